// The content security policy of every page: nothing is loaded from elsewhere, and only our own scripts run.
import { createHash } from 'node:crypto';

/** The source expression that allows one inline script. */
export const allowed = (script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

/**
 * The policy as the content of a meta element, so that it holds on every host, and for pages opened from disk.
 * @param {string[]} inline the texts of the inline scripts that may run
 */
export function policy(inline) {
  return Object.entries({
    'default-src': ["'self'"],
    // blob: an explorable's module is stored in the page as text. wasm: the search index, and explorables to come.
    'script-src': ["'self'", 'blob:', "'wasm-unsafe-eval'", ...inline.map(allowed)],
    'worker-src': ["'self'", 'blob:'],
    // KaTeX, plotly and MyST set style attributes; explorables bring their stylesheets along.
    'style-src': ["'self'", "'unsafe-inline'"],
    'img-src': ["'self'", 'data:', 'blob:'],
    'font-src': ["'self'", 'data:'],
    'connect-src': ["'self'", 'data:', 'blob:'],
    'object-src': ["'none'"],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
  }).map(([directive, sources]) => `${directive} ${sources.join(' ')}`).join('; ');
}
