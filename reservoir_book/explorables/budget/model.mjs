// What the explorable of budgets computes: who can be afforded, who wins, who might have, and the best at every budget.
// The same rules as in reservoir_lab/evidence/costs.py.

import { mean, short } from '../shared/records.mjs';

/** What each origin is called; a record's `kind` is one of these. */
export const KINDS = { trained: 'all weights trained', seeded: 'a part frozen as drawn', masked: 'masked', pretrained: 'taken from another run', fixed: 'a fixed transform' };

/** Quality of a method over its seeds; one seed is lent `lent` to either side. */
export function spread({ quality }, lent = 0) {
  const wide = quality.length === 1 ? lent : 0;
  return { low: Math.min(...quality) - wide, mean: mean(quality), high: Math.max(...quality) + wide };
}

/** The methods that cost no more than `limit` on an axis, the best first. */
export function affordable(methods, axis, limit) {
  return methods.filter((method) => method[axis] <= limit).sort((a, b) => mean(b.quality) - mean(a.quality));
}

/** Who has the highest mean within a budget, and the others that some draw of seeds puts before it; null if nobody is. */
export function bestWithin(methods, axis, limit, lent = 0) {
  const [best, ...others] = affordable(methods, axis, limit);
  if (!best) return null;
  const worst = spread(best, lent).low;
  return { best, rivals: others.filter((method) => spread(method, lent).high > worst), ...spread(best) };
}

/** The best quality that each budget buys: steps {cost, low, mean, high} from the cheapest method on. */
export function stairs(methods, axis) {
  const steps = [];
  for (const method of [...methods].sort((a, b) => a[axis] - b[axis])) {
    const found = spread(method);
    const last = steps.at(-1);
    const step = { cost: method[axis] };
    for (const key of ['low', 'mean', 'high']) step[key] = last ? Math.max(found[key], last[key]) : found[key];
    if (last && ['low', 'mean', 'high'].every((key) => step[key] === last[key])) continue;
    if (last?.cost === step.cost) steps.pop();
    steps.push(step);
  }
  return steps;
}

/** Steps as a line or a band to draw, up to `end`: level, then straight up. */
export function drawn(steps, end) {
  const x = [];
  const of = { low: [], mean: [], high: [] };
  steps.forEach((step, i) => {
    for (const at of [step.cost, steps[i + 1]?.cost ?? Math.max(end, step.cost)]) {
      x.push(at);
      for (const key of ['low', 'mean', 'high']) of[key].push(step[key]);
    }
  });
  return { x, ...of };
}

/** A cost with its unit, such as "1.65 MB" or "154 s". */
export function priced(value, unit) {
  const text = short(value);
  if (!unit) return text;
  return unit === 'B' && /[kMGT]$/.test(text) ? `${text}B` : `${text} ${unit}`;
}
