// Whether a browser can train here.

// (module (func (drop (v128.const i32x4 0 0 0 0)))): valid where there is 128-bit SIMD
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, 11);

/** Why nothing can be trained here, or undefined. */
export function lacking() {
  if (typeof WebAssembly !== 'object' || !WebAssembly.validate(SIMD)) return 'this browser has no WebAssembly with 128-bit SIMD (Chrome and Edge have it since version 91, Firefox since 89, Safari since 16.4)';
  if (typeof Worker !== 'function') return 'this page may start no worker';
  return undefined;
}
