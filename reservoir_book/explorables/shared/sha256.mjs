// SHA-256 (FIPS 180-4), in the middle of a sum: a browser's own answers asynchronously, and not on every page.

const K = new Uint32Array(64);
const START = new Uint32Array(8);
{ // The fractions of the cube roots of the first 64 primes, and of the square roots of the first 8.
  const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) >>> 0;
  for (let n = 2, found = 0; found < 64; n += 1) {
    let prime = true;
    for (let d = 2; d * d <= n; d += 1) if (n % d === 0) { prime = false; break; }
    if (!prime) continue;
    if (found < 8) START[found] = fraction(Math.sqrt(n));
    K[found] = fraction(Math.cbrt(n));
    found += 1;
  }
}

/** The hash of bytes, several pieces one after the other, as 64 hexadecimal digits. */
export function sha256(...pieces) {
  const h = START.slice();
  const w = new Uint32Array(64);
  const rest = new Uint8Array(64);
  let filled = 0;
  let length = 0;

  function block(bytes, at) {
    for (let i = 0; i < 16; i += 1, at += 4) w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, last] = h;
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (last + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      last = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += last;
  }

  function add(bytes) {
    let at = 0;
    if (filled) {
      at = Math.min(64 - filled, bytes.length);
      rest.set(bytes.subarray(0, at), filled);
      filled += at;
      if (filled < 64) return;
      block(rest, 0);
      filled = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) block(bytes, at);
    rest.set(bytes.subarray(at));
    filled = bytes.length - at;
  }

  for (const piece of pieces) {
    add(piece);
    length += piece.length;
  }
  const end = new Uint8Array((filled < 56 ? 64 : 128) - filled);
  end[0] = 0x80;
  const view = new DataView(end.buffer);
  view.setUint32(end.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(end.length - 4, (length * 8) >>> 0);
  add(end);
  return [...h].map((word) => word.toString(16).padStart(8, '0')).join('');
}
