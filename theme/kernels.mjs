// Compile the playground's kernels.ts to kernels.wasm, beside it: the same bytes from the same compiler. `make
// explorables` runs this before it bundles.
//
//     node theme/kernels.mjs [--check]
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'reservoir_book', 'explorables', 'playground');
const OPTIONS = ['-O3', '--noAssert', '--runtime', 'stub', '--importMemory', '--enable', 'simd', '--memoryBase', '1024'];

/** The bytes that kernels.ts compiles to. */
export async function compiled() {
  const { default: asc } = await import('assemblyscript/asc');
  let bytes;
  const io = { stdout: asc.createMemoryStream(), stderr: asc.createMemoryStream(), writeFile: (name, contents) => { bytes = contents; } };
  const { error } = await asc.main(['kernels.ts', '-o', 'kernels.wasm', '--baseDir', FOLDER, ...OPTIONS], io);
  if (error) throw new Error(`${io.stderr.toString()}${error.message}`);
  return bytes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = path.join(FOLDER, 'kernels.wasm');
  const bytes = await compiled();
  const same = fs.existsSync(to) && Buffer.compare(fs.readFileSync(to), Buffer.from(bytes)) === 0;
  if (!same && process.argv.includes('--check')) {
    console.error('kernels.wasm is stale: run make explorables');
    process.exitCode = 1;
  } else if (!same) fs.writeFileSync(to, bytes);
}
