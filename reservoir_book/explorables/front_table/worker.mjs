// A cell of the table, trained in a worker of its own from the first step to the last.
import { Practice } from '../playground/practice.mjs';

const OFTEN = 100; // ms between two reports of how far it is

/** Train with what the page sends, {kernels, settings, lexicon}, and say how far it is. */
export function train({ kernels, settings, lexicon }, say, now = () => performance.now()) {
  const begun = now();
  const run = new Practice(new WebAssembly.Module(kernels), settings, lexicon);
  const { references } = run;
  const { steps, task: { every } } = settings;
  let told = begun;
  while (!run.done) {
    const loss = run.train(now);
    if (run.stopped !== undefined) { say({ kind: 'failed', step: run.stopped, loss: String(loss) }); return; }
    if (run.step % every === 0 || run.step === steps) say({ kind: 'point', step: run.step, share: run.valid(), shown: run.samples().map((said, i) => [...references[i], said]) });
    else if (now() - told > OFTEN) { told = now(); say({ kind: 'step', step: run.step }); }
  }
  const share = run.test();
  say({ kind: 'done', step: run.step, share, seconds: (now() - begun) / 1000 });
}

export default function serve(worker) {
  worker.onmessage = ({ data }) => {
    try {
      train(data, (message) => worker.postMessage(message));
    } catch (error) {
      worker.postMessage({ kind: 'failed', why: error.message });
    }
  };
}
