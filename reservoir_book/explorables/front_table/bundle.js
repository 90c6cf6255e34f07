var __toBinary = Uint8Array.fromBase64 || /* @__PURE__ */ (() => {
  var table = new Uint8Array(128);
  for (var i = 0; i < 64; i++) table[i < 26 ? i + 65 : i < 52 ? i + 71 : i < 62 ? i - 4 : i * 4 - 205] = i;
  return (base64) => {
    var n = base64.length, bytes = new Uint8Array((n - (base64[n - 1] == "=") - (base64[n - 2] == "=")) * 3 / 4 | 0);
    for (var i2 = 0, j = 0; i2 < n; ) {
      var c0 = table[base64.charCodeAt(i2++)], c1 = table[base64.charCodeAt(i2++)];
      var c2 = table[base64.charCodeAt(i2++)], c3 = table[base64.charCodeAt(i2++)];
      bytes[j++] = c0 << 2 | c1 >> 4;
      bytes[j++] = c1 << 4 | c2 >> 2;
      bytes[j++] = c2 << 6 | c3;
    }
    return bytes;
  };
})();

// reservoir_book/explorables/playground/able.mjs
var SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 26, 11);
function lacking() {
  if (typeof WebAssembly !== "object" || !WebAssembly.validate(SIMD)) return "this browser has no WebAssembly with 128-bit SIMD (Chrome and Edge have it since version 91, Firefox since 89, Safari since 16.4)";
  if (typeof Worker !== "function") return "this page may start no worker";
  return void 0;
}

// reservoir_book/explorables/playground/kernels.wasm
var kernels_default = __toBinary("AGFzbQEAAAABoQEPYAl/f39/f39/f38AYAR/f39/AGAFf39/f38AYAN/f38AYAZ/f39/f30AYAF8AXxgAn9/AXxgDX9/f39/f39/f39/f38AYAd/f39/f39/AGAIf39/f39/f30AYAZ/f39/f38AYBB/f39/f39/f39/f39/f39/AGAMf39/f39/f39/f39/AGAHf39/f39/fQF/YA1/f39/f319fX19fX19AAIPAQNlbnYGbWVtb3J5AgABAxYVBQEGAgMHAAAIAAQJBAEKAgsMDQMOB8oBFQdwcm9kdWN0AAUFb3V0ZXIABgl0cmFuc3Bvc2UAAQNhZGQAEwdjb2x1bW5zAA0IcmVsdUJhY2sABAVlbWJlZAALCWVtYmVkQmFjawAKBG5vcm0ACAhub3JtQmFjawAHBmF0dGVuZAARCmF0dGVuZEJhY2sAEANtaXgACQxjcm9zc0VudHJvcHkADAZhbnN3ZXIAEgRiZXN0AA8Hc3F1YXJlcwACBGFkYW0AFAZjaG9vc2UADglzY29yZUJhY2sAAwZtZW1vcnkCAAwBAgqUSxXSBAMCfgJ/A3wCfCAAvSIBQoCAgICAgID3P31CgICAgICgwgFUBEAgAEQAAAAAAADwv6AiACAAoiIFIACiIgYgAETL/f/////Pv6JEd1VVVVVV1T+gIAVEDN2VmZmZyT+ioCAGIABEMN5EoyRJwj+iRKdFZ1VVVcW/oCAFRGU9QqT//7+/oqAgBiAARP9osEPrmbm/okTK1ioohHG8P6AgBUSF0K/3goG3P6KgIAZEzUXRdRNStb+ioKKgoqCiIAAgACAAIABEAAAAAAAAoEGiIgWgIAWhIgUgBaJEAAAAAAAA4L+iIgagIgehIAagIAAgBaFEAAAAAAAA4L+iIAUgAKCioKAgB6AMAQsgAUIwiKciA0EQa0Hg/wFPBEBEAAAAAAAA8L8gACAAoqMgAUIBhlANARogACABQoCAgICAgID4/wBRDQEaQQEgA0Hw/wFxQfD/AUYgA0GAgAJxGwRAIAAgAKEiACAAowwCCyAARAAAAAAAADBDor1CgICAgICAgKADfSEBCyABQoCAgICAgIDzP30iAkItiEL/AIOnQQR0IgNBgAhqIQQgAkI0h7kiAEQAOPr+Qi7mP6IgBCsDCKAiBSABIAJCgICAgICAgHiDfb8gA0GAGGoiAysDAKEgAysDCKEgBCsDAKIiBqAhByAFIAehIAagIABEMGfHk1fzLj2ioCAGIAaiIgBEAQAAAAAA4L+ioCAGIACiIAZEkEXr////z7+iRFswUVVVVdU/oCAAIAZEn8gG5XVVxb+iRBEB8SSzmck/oKKgoqAgB6ALC1IBAn8DQCACIAVKBEBBACEEA0AgAyAESgRAIAEgAiAEbCAFakECdGogACADIAVsIARqQQJ0aioCADgCACAEQQFqIQQMAQsLIAVBAWohBQwBCwsLkgEDA38BewF8A0AgASADSgRA/QwAAAAAAAAAAAAAAAAAAAAAIQUgAyECIANBgAJqIQQDQCACIAQgASABIARKG0gEQCAFIAAgAkECdGr9AAQAIgUgBf3mAf3kASEFIAJBBGohAgwBCwsgBiAF/R8AIAX9HwGSIAX9HwIgBf0fA5KSu6AhBiADQYACaiEDDAELCyAGC6IBAgJ/AXsDQCAEIAVKBEAgAiAFQQJ0IgZq/QAEACEHIAMgBmogACAGav0ABAAgASAGav0ABAD95gEgB/0MAAAAAAAAAAAAAAAAAAAAAP1E/QwAAIA/AACAPwAAgD8AAIA//U4gB/0MAAAAAAAAAAAAAAAAAAAAAP1D/QwAAIA/AACAPwAAgD8AAIA//U795QH95gH9CwQAIAVBBGohBQwBCwsLTwAgACACQQJ0aiECA0AgACACSQRAIAAgAP0ABAAgAf0ABAD9DAAAAAAAAAAAAAAAAAAAAAD9RP1O/QsEACAAQRBqIQAgAUEQaiEBDAELCwvMCQILewt/IAFBAnQhGyADQQJ0IR4gBUECdCEcA0AgCCAaSgRAQYABIAggGmsiASABQYABShsiHyAaaiAIRiEgIAsgGkEASiALGyEdQQAhAwNAIAMgBkgEQCADQUBrIgEgBiABIAZIGyEhIAwhASADIQUDQCAFICFIBEAgACAaQQJ0aiAFIBtsaiEYQQAhGQNAIBkgH0gEQCABIBgqAgA4AgAgASAYIBtqKgIAOAIEIAEgGCAbQQF0aioCADgCCCABIBggG0EDbGoqAgA4AgwgGUEBaiEZIBhBBGohGCABQRBqIQEMAQsLIAVBBGohBQwBCwtBACEZA0AgByAZSgRAIAwhBSADIRgDQCAYICFIBEAgAiAZQQJ0aiAaIB5saiEB/QwAAAAAAAAAAAAAAAAAAAAAIQ79DAAAAAAAAAAAAAAAAAAAAAAhEv0MAAAAAAAAAAAAAAAAAAAAACEP/QwAAAAAAAAAAAAAAAAAAAAAIQ39DAAAAAAAAAAAAAAAAAAAAAAhEP0MAAAAAAAAAAAAAAAAAAAAACET/QwAAAAAAAAAAAAAAAAAAAAAIRH9DAAAAAAAAAAAAAAAAAAAAAAhFCAFIB9BBHRqISIDQCAFICJJBEAgDiAF/QkCACIWIAH9AAQAIhX95gH95AEhDiASIBYgAf0ABBAiFv3mAf3kASESIA8gBf0JAgQiFyAV/eYB/eQBIQ8gDSAXIBb95gH95AEhDSAQIAX9CQIIIhcgFf3mAf3kASEQIBMgFyAW/eYB/eQBIRMgESAF/QkCDCIXIBX95gH95AEhESAUIBcgFv3mAf3kASEUIAVBEGohBSABIB5qIQEMAQsLICBBACAJGwRAIA4gCSAZQQJ0aiIB/QAEACIV/eQBIQ4gDyAV/eQBIQ8gECAV/eQBIRAgESAV/eQBIREgEiAB/QAEECIV/eQBIRIgEyAV/eQBIRMgFCAV/eQBIRQgDSAV/eQBIQ0LIAQgGUECdGogGCAcbGohASAdBEAgEiAB/QAEEP3kASESIA4gAf0ABAD95AEhDgsgASAgIAogChsiIgR7IBL9DAAAAAAAAAAAAAAAAAAAAAD96QEhEiAO/QwAAAAAAAAAAAAAAAAAAAAA/ekBBSAOC/0LBAAgASAS/QsEECABIBxqIQEgHQRAIA0gAf0ABBD95AEhDSAPIAH9AAQA/eQBIQ8LIAEgIgR7IA39DAAAAAAAAAAAAAAAAAAAAAD96QEhDSAP/QwAAAAAAAAAAAAAAAAAAAAA/ekBBSAPC/0LBAAgASAN/QsEECABIBxqIQEgHQRAIBMgAf0ABBD95AEhEyAQIAH9AAQA/eQBIRALIAEgIgR7IBP9DAAAAAAAAAAAAAAAAAAAAAD96QEhEyAQ/QwAAAAAAAAAAAAAAAAAAAAA/ekBBSAQC/0LBAAgASAT/QsEECABIBxqIQEgHQRAIBQgAf0ABBD95AEhFCARIAH9AAQA/eQBIRELIAEgIgR7IBT9DAAAAAAAAAAAAAAAAAAAAAD96QEhFCAR/QwAAAAAAAAAAAAAAAAAAAAA/ekBBSARC/0LBAAgASAU/QsEECAYQQRqIRgMAQsLIBlBCGohGQwBCwsgA0FAayEDDAELCyAaQYABaiEaDAELCwumBQILewd/IAFBAnQhFyADQQJ0IRggBUECdCEVQQAhAwNAIAMgCEgEQCADQYABaiIBIAggASAISBshGUEAIQUDQCAFIAZIBEBBACEUA0AgByAUSgRAIAAgBUECdGoiGiADIBdsaiEBIAIgFEECdGogAyAYbGohFiAaIBcgGWxqIRr9DAAAAAAAAAAAAAAAAAAAAAAhCf0MAAAAAAAAAAAAAAAAAAAAACEK/QwAAAAAAAAAAAAAAAAAAAAAIQv9DAAAAAAAAAAAAAAAAAAAAAAhDP0MAAAAAAAAAAAAAAAAAAAAACEN/QwAAAAAAAAAAAAAAAAAAAAAIQ79DAAAAAAAAAAAAAAAAAAAAAAhD/0MAAAAAAAAAAAAAAAAAAAAACEQA0AgASAaSQRAIAkgAf0JAgAiEiAW/QAEACIR/eYB/eQBIQkgCiASIBb9AAQQIhL95gH95AEhCiALIAH9CQIEIhMgEf3mAf3kASELIAwgEyAS/eYB/eQBIQwgDSAB/QkCCCITIBH95gH95AEhDSAOIBMgEv3mAf3kASEOIA8gAf0JAgwiEyAR/eYB/eQBIQ8gECATIBL95gH95AEhECABIBdqIQEgFiAYaiEWDAELCyAKIAQgFEECdGogBSAVbGoiAf0ABBD95AEhCiABIAkgAf0ABAD95AH9CwQAIAEgCv0LBBAgDCABIBVqIgH9AAQQ/eQBIQkgASALIAH9AAQA/eQB/QsEACABIAn9CwQQIA4gASAVaiIB/QAEEP3kASEJIAEgDSAB/QAEAP3kAf0LBAAgASAJ/QsEECAQIAEgFWoiAf0ABBD95AEhCSABIA8gAf0ABAD95AH9CwQAIAEgCf0LBBAgFEEIaiEUDAELCyAFQQRqIQUMAQsLIANBgAFqIQMMAQsLC8cDAwd/BnsBfQNAIAcgCkoEQCADIApBAXQiCUECdGoqAgD9EyETIAMgCUEBakECdGoqAgD9EyESIAEgCCAKbEECdCIJaiELIAAgCWohDCAEIAlqIQ39DAAAAAAAAAAAAAAAAAAAAAAhEP0MAAAAAAAAAAAAAAAAAAAAACERQQAhCQNAIAggCUoEQCAQIAwgCUECdCIOav0ABAAgAiAOav0ABAD95gEiFP3kASEQIBEgFCALIA5q/QAEACAT/eUBIBL95gH95gH95AEhESAJQQRqIQkMAQsLIBD9HwAgEP0fAZIgEP0fAiAQ/R8DkpIgCLIiFpX9EyEUIBH9HwAgEf0fAZIgEf0fAiAR/R8DkpIgFpX9EyERQQAhCQNAIAggCUoEQCAMIAlBAnQiDmr9AAQAIRUgDSAOaiIPIA/9AAQAIBUgAiAOav0ABAD95gEgFP3lASALIA5q/QAEACAT/eUBIBL95gEiECAR/eYB/eUBIBL95gH95AH9CwQAIAUEQCAFIA5qIg8gD/0ABAAgFSAQ/eYB/eQB/QsEACAGIA5qIg4gDv0ABAAgFf3kAf0LBAALIAlBBGohCQwBCwsgCkEBaiEKDAELCwv+AgMCewR/An0DQCAFIApKBEAgACAGIApsQQJ0aiEL/QwAAAAAAAAAAAAAAAAAAAAAIQdBACEJA0AgBiAJSgRAIAcgCyAJQQJ0av0ABAD95AEhByAJQQRqIQkMAQsLIAf9HwAgB/0fAZIgB/0fAiAH/R8DkpIgBrKVIg39EyEI/QwAAAAAAAAAAAAAAAAAAAAAIQdBACEJA0AgBiAJSgRAIAcgCyAJQQJ0av0ABAAgCP3lASIHIAf95gH95AEhByAJQQRqIQkMAQsLQwAAgD8gB/0fACAH/R8BkiAH/R8CIAf9HwOSkiAGspVDrMUnN5KRlSIO/RMhB0EAIQkDQCAGIAlKBEAgAyAGIApsIAlqQQJ0aiACIAlBAnQiDGr9AAQAIAsgDGr9AAQAIAj95QEgB/3mASABIAxq/QAEAP3mAf3kAf0LBAAgCUEEaiEJDAELCyAEIApBAXQiCUECdGogDTgCACAEIAlBAWpBAnRqIA44AgAgCkEBaiEKDAELCwvyAQIJfwF7A0AgASAMSgRAIAAgDEEGbCIJQQJ0aigCACENIAAgCUEBakECdGooAgAhDkEAIQkDQCAJIA5IBEBBACEKA0AgCCAKSgRAIAcgCSANaiAIbCAKakECdGoiD/0ABAAhEkEAIQsDQCALIA5IBEAgEiAEIAYgCWwgC2pBAnQiEGr9CQIAIAIgCyANaiAIbCAKakECdCIRav0ABAD95gH95AEgBSAQav0JAgAgAyARav0ABAD95gH95QEhEiALQQFqIQsMAQsLIA8gEv0LBAAgCkEEaiEKDAELCyAJQQFqIQkMAQsLIAxBAWohDAwBCwsLfAIEfwF7IAX9EyEKA0AgAyAHSgRAIAIgACAHQQJ0aigCACAEbEECdGohCEEAIQYDQCAEIAZKBEAgCCAGQQJ0aiIJIAn9AAQAIAEgBCAHbCAGakECdGr9AAQAIAr95gH95AH9CwQAIAZBBGohBgwBCwsgB0EBaiEHDAELCwuUAQIFfwF7IAf9EyENA0AgBSAJSgRAIAIgACAJQQJ0IghqKAIAIAZsQQJ0aiEKIAMgASAIaigCACAGbEECdGohC0EAIQgDQCAGIAhKBEAgBCAGIAlsIAhqQQJ0aiALIAhBAnQiDGr9AAQAIAogDGr9AAQAIA395gH95AH9CwQAIAhBBGohCAwBCwsgCUEBaiEJDAELCwuwBgQFewV/BHwFfSAFIASylUMAAIA/IAOylSIUlP0TIQgDQCADIAxKBEAgASAMQQJ0aigCACENIAAgBCAMbEECdGoiDv0ABAAhBv0MAAAAAAAAAAAAAAAAAAAAACEHQQAhCwNAIAQgC0oEQCAGIA4gC0ECdGr9AAQAIgn96QEhBiAHIAn95AEhByALQQRqIQsMAQsLIAf9HwAgB/0fAZIgB/0fAiAH/R8DkpIgBLKVIRUgDiANQQJ0aioCACEWIAb9HwAgBv0fAZcgBv0fAiAG/R8Dl5ciF/0TIQn9DAAAAAAAAAAAAAAAAAAAAAAhB0EAIQsDQCAEIAtKBEAgDiALQQJ0aiIP/QAEACAJ/eUB/Qyama7CmpmuwpqZrsKama7C/ekBIgr9DDuquD87qrg/O6q4PzuquD/95gH9aiEGIA8gCiAG/QwAgDE/AIAxPwCAMT8AgDE//eYB/eUBIAb9DIOAXrmDgF65g4BeuYOAXrn95gH95QEiCv0MAAAAPwAAAD8AAAA/AAAAP/0MqqoqPqqqKj6qqio+qqoqPv0MwakqPcGpKj3BqSo9wakqPf0MCIkIPAiJCDwIiQg8CIkIPP0MzkO3Os5DtzrOQ7c6zkO3Ov0MZ2lQOWdpUDlnaVA5Z2lQOSAK/eYB/eQBIAr95gH95AEgCv3mAf3kASAK/eYB/eQBIAr95gH95AEgCiAK/eYB/eYB/eQB/QwAAIA/AACAPwAAgD8AAIA//eQBIAb9+AH9DH8AAAB/AAAAfwAAAH8AAAD9rgFBF/2rAf3mASIG/QsEACAHIAb95AEhByALQQRqIQsMAQsLIAf9HwAgB/0fAZIgB/0fAiAH/R8DkpIiGLsQACAXu6AhEyAUIBiV/RMhBiAQIBMgFrsiEqGgIRAgESATRAAAAAAAAPA/IAW7IhGhIBKioSARIBW7oqGgIRFBACELA0AgBCALSgRAIA4gC0ECdGoiDyAP/QAEACAG/eYBIAj95QH9CwQAIAtBBGohCwwBCwsgDiANQQJ0aiILIAsqAgBDAACAPyAFkyAUlJM4AgAgDEEBaiEMDAELCyACIBE5AwAgAiAQOQMIC2cCAn8BewNAIAMgBEoEQCABIARBAnRq/QAEACEGQQAhBQNAIAIgBUoEQCAGIAAgAyAFbCAEakECdGr9AAQA/eQBIQYgBUEBaiEFDAELCyABIARBAnRqIAb9CwQAIARBBGohBAwBCwsLsQIBB39BFCEJA0AgCUEATgRAIAVBAEGAwAD8CwBB/w9B/wcgCUEURhshB0EAIQYDQCADIAZKBEAgDCAAIAZBAnRqKAIAQf////8HcSIIcSAKRgRAIAUgCCAJdiAHcUECdGoiCCAIKAIAQQFqNgIACyAGQQFqIQYMAQsLIAchBgNAIAZBAEoEQCAEIAUgBkECdGooAgAiCEoEQCAEIAhrIQQgBkEBayEGDAILCwsgCiAGIAl0ciEKIAwgByAJdHIhDCAJQQprIQkMAQsLA0AgAyALSgRAIAAgC0ECdGooAgBB/////wdxIgUgCkshBiAFIApGIARBAEpxBEBBASEGIARBAWshBAsgAiALQQJ0IgVqIAYEfSABIAVqKgIABUMAAAAACzgCACALQQFqIQsMAQsLC3QCA38CfQNAIAIgB0oEQEEAIQUgACADIAdsQQJ0aioCACEIQQEhBgNAIAQgBkoEQCAAIAMgB2wgBmpBAnRqKgIAIgkgCF4EQCAJIQggBiEFCyAGQQFqIQYMAQsLIAEgB0ECdGogBTYCACAHQQFqIQcMAQsLC4IJAhZ/CXtDAACAPyANIA5tIhyykZX9EyEsIAlBAnQhIwNAIAEgG0oEQCAAIBtBGGxqIiAoAgQhGSAgKAIUIRggICgCDCISQQNqQXxxIRcgCyAgKAIQQQJ0aiEfQQAhHgNAIA4gHkoEQCAgKAIIIAlsIBwgHmxqIRpBACEdA0AgGSAdSgRAIBwgHmwiESAgKAIAIB1qIhAgBGxqIRYgCiANIBBsIBFqQQJ0aiEQIA8EfyASIBggHWpBAWoiESARIBJKGwUgEgshEf0MAAAAAAAAAAAAAAAAAAAAACEuQQAhJQNAIBEgJUoEQCAfICVBAnRq/QAEACEoIAYgGiAJICVsakECdGohJP0MAAAAAAAAAAAAAAAAAAAAACEq/QwAAAAAAAAAAAAAAAAAAAAAIS39DAAAAAAAAAAAAAAAAAAAAAAhJ/0MAAAAAAAAAAAAAAAAAAAAACEpIBAiEyAcQQJ0aiEUA0AgEyAUSQRAIC0gE/0ABAAiJiAk/QAEAP3mAf3kASEtICcgJiAjICRq/QAEAP3mAf3kASEnICkgJiAkICNBAXRq/QAEAP3mAf3kASEpICogJiAkICNBA2xq/QAEAP3mAf3kASEqIBNBEGohEyAkQRBqISQMAQsLIAwgJUECdGogLSAn/Q0AAQIDEBESEwQFBgcUFRYXIC0gJ/0NCAkKCxgZGhsMDQ4PHB0eH/3kASInICkgKv0NAAECAxAREhMEBQYHFBUWFyApICr9DQgJCgsYGRobDA0ODxwdHh/95AEiJv0NAAECAwQFBgcQERITFBUWFyAnICb9DQgJCgsMDQ4PGBkaGxwdHh/95AEgKP0MAAAAAAAAAAAAAAAAAAAAAP1E/U4iJv0LBAAgLiAmICj95gH95AEhLiAlQQRqISUMAQsLIC79HwAgLv0fAZIgLv0fAiAu/R8DkpL9EyEmQQAhEwNAIBEgE0oEQCATQQJ0IhUgDGoiFCAVIB9q/QAEACAU/QAEACAm/eUB/eYBICz95gH9CwQAIBNBBGohEwwBCwtBACEiA0AgHCAiSgRAIBAgIkECdGoiE/0ABAAhKiAT/QAEECEpIBYgImpBAnQiFCACaiIT/QAEACEoIBP9AAQQIScgAyAUaiIV/QAEACEuIBX9AAQQIS0gGiAiakECdCIUIAVqIRMgByAUaiEhIAggFGohJUEAISQDQCARICRKBEAgJEECdCIUIB9q/QkCACErIC4gDCAUav0JAgAiJiAT/QAEAP3mAf3kASEuIC0gJiAT/QAEEP3mAf3kASEtICEgIf0ABAAgJiAo/eYB/eQB/QsEACAhICH9AAQQICYgJ/3mAf3kAf0LBBAgJSAl/QAEACArICr95gH95AH9CwQAICUgJf0ABBAgKyAp/eYB/eQB/QsEECAkQQFqISQgEyAjaiETICEgI2ohISAjICVqISUMAQsLIBUgLv0LBAAgFSAt/QsEECAiQQhqISIMAQsLIB8gF0ECdGohHyAdQQFqIR0MAQsLIB5BAWohHgwBCwsgG0EBaiEbDAELCwudDQIUfwd7QwAAgD8gCSAKbSITspGV/RMhJiAGQQJ0IRQDQCABIBhKBEAgACAYQRhsaiIVKAIEIRwgFSgCFCEdIBUoAgwiD0EDakF8cSEZIAggFSgCEEECdGohEUEAIRYDQCAKIBZKBEAgFSgCCCAGbCATIBZsakECdCIMIARqIR4gBSAMaiEaQQAhFwNAIBcgHEgEQCACIBMgFmwiDCAVKAIAIBdqIg0gA2xqQQJ0aiEQIAcgCSANbCAMakECdGohGyALBH8gDyAXIB1qQQFqIgwgDCAPShsFIA8LIQz9DAAAgP8AAID/AACA/wAAgP8hIkEAIQ0DQCAMIA1KBEAgHiANIBRsaiES/QwAAAAAAAAAAAAAAAAAAAAAISD9DAAAAAAAAAAAAAAAAAAAAAAhJP0MAAAAAAAAAAAAAAAAAAAAACEh/QwAAAAAAAAAAAAAAAAAAAAAISMgECIOIBNBAnRqIR8DQCAOIB9JBEAgJCAO/QAEACIlIBL9AAQA/eYB/eQBISQgISAlIBIgFGr9AAQA/eYB/eQBISEgIyAlIBIgFEEBdGr9AAQA/eYB/eQBISMgICAlIBIgFEEDbGr9AAQA/eYB/eQBISAgDkEQaiEOIBJBEGohEgwBCwsgESANQQJ0aiAkICH9DQABAgMQERITBAUGBxQVFhcgJCAh/Q0ICQoLGBkaGwwNDg8cHR4f/eQBIiEgIyAg/Q0AAQIDEBESEwQFBgcUFRYXICMgIP0NCAkKCxgZGhsMDQ4PHB0eH/3kASIg/Q0AAQIDBAUGBxAREhMUFRYXICEgIP0NCAkKCwwNDg8YGRobHB0eH/3kASAm/eYB/QsEACAMIQ4DQCAOIA1BBGpIBEAgESAOQQJ0akMAAID/OAIAIA5BAWohDgwBCwsgIiARIA1BAnRq/QAEAP3pASEiIA1BBGohDQwBCwsgDSEOICL9HwAgIv0fAZcgIv0fAiAi/R8Dl5f9EyEh/QwAAAAAAAAAAAAAAAAAAAAAISBBACENA0AgDSAOSARAIBEgDUECdGoiEP0ABAAgIf3lAf0MmpmuwpqZrsKama7Cmpmuwv3pASIi/Qw7qrg/O6q4PzuquD87qrg//eYB/WohIyAQICIgI/0MAIAxPwCAMT8AgDE/AIAxP/3mAf3lASAj/QyDgF65g4BeuYOAXrmDgF65/eYB/eUBIiL9DAAAAD8AAAA/AAAAPwAAAD/9DKqqKj6qqio+qqoqPqqqKj79DMGpKj3BqSo9wakqPcGpKj39DAiJCDwIiQg8CIkIPAiJCDz9DM5DtzrOQ7c6zkO3Os5Dtzr9DGdpUDlnaVA5Z2lQOWdpUDkgIv3mAf3kASAi/eYB/eQBICL95gH95AEgIv3mAf3kASAi/eYB/eQBICIgIv3mAf3mAf3kAf0MAACAPwAAgD8AAIA/AACAP/3kASAj/fgB/Qx/AAAAfwAAAH8AAAB/AAAA/a4BQRf9qwH95gEiIv0LBAAgICAi/eQBISAgDUEEaiENDAELC0MAAIA/ICD9HwAgIP0fAZIgIP0fAiAg/R8DkpKV/RMhIEEAIQ0DQCANIA5IBEAgESANQQJ0aiIQIBD9AAQAICD95gH9CwQAIA1BBGohDQwBCwsgDCENA0AgDSAZSARAIBEgDUECdGpDAAAAADgCACANQQFqIQ0MAQsLQQAhDgNAIA5BEGogE0wEQP0MAAAAAAAAAAAAAAAAAAAAACEk/QwAAAAAAAAAAAAAAAAAAAAAISH9DAAAAAAAAAAAAAAAAAAAAAAhI/0MAAAAAAAAAAAAAAAAAAAAACEgIBogDkECdGohEEEAIQ0DQCAMIA1KBEAgJCARIA1BAnRq/QkCACIiIBD9AAQA/eYB/eQBISQgISAiIBD9AAQQ/eYB/eQBISEgIyAiIBD9AAQg/eYB/eQBISMgICAiIBD9AAQw/eYB/eQBISAgDUEBaiENIBAgFGohEAwBCwsgGyAOQQJ0aiINICT9CwQAIA0gIf0LBBAgDSAj/QsEICANICD9CwQwIA5BEGohDgwBCwsDQCAOIBNIBED9DAAAAAAAAAAAAAAAAAAAAAAhIEEAIQ0DQCAMIA1KBEAgICARIA1BAnRq/QkCACAaIAYgDWwgDmpBAnRq/QAEAP3mAf3kASEgIA1BAWohDQwBCwsgGyAOQQJ0aiAg/QsEACAOQQRqIQ4MAQsLIBEgGUECdGohESAXQQFqIRcMAQsLIBZBAWohFgwBCwsgGEEBaiEYDAELCwv7BQQGfwN9BHsBfANAIAMgCkoEQCAAIAQgCmxBAnRqIQkCQCABIApBAnRqKAIAIgtBAEgEQCAJQQAgBEECdPwLAAwBC0EAIQcgCSoCACENQQEhCANAIAUgCEoEQCAJIAhBAnRqKgIAIg4gDV4EQCAOIQ0gCCEHCyAIQQFqIQgMAQsLIAxBAWogDCAHIAtGGyEMIAkgC0ECdGoqAgAhDiAN/RMhEv0MAAAAAAAAAAAAAAAAAAAAACEQQQAhCANAIAQgCEoEQCAJIAhBAnRqIgf9AAQAIBL95QH9DJqZrsKama7CmpmuwpqZrsL96QEiE/0MO6q4PzuquD87qrg/O6q4P/3mAf1qIREgByATIBH9DACAMT8AgDE/AIAxPwCAMT/95gH95QEgEf0Mg4BeuYOAXrmDgF65g4Beuf3mAf3lASIT/QwAAAA/AAAAPwAAAD8AAAA//Qyqqio+qqoqPqqqKj6qqio+/QzBqSo9wakqPcGpKj3BqSo9/QwIiQg8CIkIPAiJCDwIiQg8/QzOQ7c6zkO3Os5DtzrOQ7c6/QxnaVA5Z2lQOWdpUDlnaVA5IBP95gH95AEgE/3mAf3kASAT/eYB/eQBIBP95gH95AEgE/3mAf3kASATIBP95gH95gH95AH9DAAAgD8AAIA/AACAPwAAgD/95AEgEf34Af0MfwAAAH8AAAB/AAAAfwAAAP2uAUEX/asB/eYB/QsEACAIIAUgBSAISBshBwNAIAcgCEEEakgEQCAJIAdBAnRqQwAAAAA4AgAgB0EBaiEHDAELCyAQIAkgCEECdGr9AAQA/eQBIRAgCEEEaiEIDAELCyAGIBD9HwAgEP0fAZIgEP0fAiAQ/R8DkpIiD5X9EyEQIBQgD7sQACANu6AgDruhoCEUQQAhCANAIAQgCEoEQCAJIAhBAnRqIgcgB/0ABAAgEP3mAf0LBAAgCEEEaiEIDAELCyAJIAtBAnRqIgcgByoCACAGkzgCAAsgCkEBaiEKDAELCyACIBQ5AwAgDAs8ACAAIAJBAnRqIQIDQCAAIAJJBEAgACAA/QAEACAB/QAEAP3kAf0LBAAgAEEQaiEAIAFBEGohAQwBCwsL/QECC3sEf0MAAIA/IAUgBpST/RMhDiAM/RMhDyAFIAqV/RMhECAJ/RMhESALkf0TIRIgB/0TIRNDAACAPyAHk/0TIRQgCP0TIRVDAACAPyAIk/0TIRYDQCAEIBhKBEAgASAYQQJ0Ihpq/QAEACAP/eYBIRcgAiAaaiIb/QAEACAT/eYBIBcgFP3mAf3kASENIAMgGmoiGf0ABAAgFf3mASAXIBf95gEgFv3mAf3kASEXIBsgDf0LBAAgGSAX/QsEACAAIBpqIhkgGf0ABAAgDv3mASAQIA395gEgF/3jASAS/ecBIBH95AH95wH95QH9CwQAIBhBBGohGAwBCwsLC48gAgBBgAgLgBCf3uDD8DT3PwCQ5nl/zNe/H+ksangT9z8AAA3C7m/Xv6C1+ghg8vY/AOBRE+MT1799jBMfptH2PwB4KDhbuNa/0bTFC0mx9j8AeICQVV3Wv7oMLzNHkfY/AAAYdtAC1r8jQiIYn3H2PwCQkIbKqNW/2R6lmU9S9j8AUANWQ0/Vv8Qkj6pWM/Y/AEBrwzf21L8U3J1rsxT2PwBQqP2nndS/TFzGUmT29T8AqIk5kkXUv08skbVn2PU/ALiwOfTt07/ekFvLvLr1PwBwj0TOltO/eBrZ8mGd9T8AoL0XHkDTv4dWRhJWgPU/AIBG7+Lp0r/Ta+fOl2P1PwDgMDgblNK/k3+n4iVH9T8AiNqMxT7Sv4NFBkL/KvU/AJAnKeHp0b/fvbLbIg/1PwD4SCttldG/1940R4/z9D8A+LmaZ0HRv0Ao3s9D2PQ/AJjvlNDt0L/Io3jAPr30PwAQ2xilmtC/iiXgw3+i9D8AuGNS5kfQvzSE1CQFiPQ/APCGRSLrz78LLRkbzm30PwCwF3VKR8+/VBg509lT9D8AMBA9RKTOv1qEtEQnOvQ/ALDpRA0Czr/7+BVBtSD0PwDwdymiYM2/sfQ+2oIH9D8AkJUEAcDMv4/+V12P7vM/ABCJVikgzL/pTAug2dXzPwAQgY0Xgcu/K8EQwGC98z8A0NPMyeLKv7jadSskpfM/AJASLkBFyr8C0J/NIo3zPwDwHWh3qMm/HHqExVt18z8AMEhpbQzJv+I2rUnOXfM/AMBFpiBxyL9A1E2YeUbzPwAwFLSP1se/JMv/zlwv8z8AcGI8uDzHv0kNoXV3GPM/AGA3m5qjxr+QOT43yAHzPwCgt1QxC8a/QfiVu07r8j8AMCR2fXPFv9GpGQIK1fI/ADDCj3vcxL8q/beo+b7yPwAA0lEsRsS/qxsMehyp8j8AAIO8irDDvzC1FGByk/I/AABJa5kbw7/1oVdX+n3yPwBApJBUh8K/vzsdm7No8j8AoHn4ufPBv731j4OdU/I/AKAsJchgwb87CMmqtz7yPwAg91d/zsC/tkCpKwEq8j8AoP5J3DzAvzJBzJZ5FfI/AIBLvL1Xv7+b/NIdIAHyPwBAQJYIN76/C0hNSfTs8T8AQPk+mBe9v2llj1L12PE/AKDYTmf5u798flcRI8XxPwBgLyB53Lq/6SbLdHyx8T8AgCjnw8C5v7YaLAwBnvE/AMBys0amuL+9cLZ7sIrxPwAArLMBjbe/trzvJYp38T8AADhF8XS2v9oxTDWNZPE/AICHbQ5etb/dXyeQuVHxPwDgod5cSLS/TNIypA4/8T8AoGpN2TOzv9r5EHKLLPE/AGDF+Hkgsr8xtewoMBrxPwAgYphGDrG/rzSE2vsH8T8AANJqbPqvv7NrTg/u9fA/AEB3So3arb/OnypdBuTwPwAAheTsvKu/IaUsY0TS8D8AwBJAiaGpvxqY4nynwPA/AMACM1iIp7/RNsaDL6/wPwCA1mdecaW/OROgmNud8D8AgGVJilyjv9/nUq+rjPA/AEAVZONJob/7KE4vn3vwPwCA64LAcp6/GY81jLVq8D8AgFJS8VWavyz57KXuWfA/AICBz2I9lr+QLNHNSUnwPwAAqoz7KJK/qa3wxsY48D8AAPkgezGMv6kyeRNlKPA/AACqXTUZhL9Ic+onJBjwPwAA7MIDEni/lbEUBgQI8D8AACR5CQRgvxr6Jvcf4O8/AACQhPPvbz906mHCHKHvPwAAPTVB3Ic/LpmBsBBj7z8AgMLEo86TP82t7jz2Je8/AACJFMGfmz/nE5EDyOnuPwAAEc7YsKE/q7HLeICu7j8AwAHQW4qlP5sMnaIadO4/AIDYQINcqT+1mQqDkTruPwCAV+9qJ60/VppgCeAB7j8AwJjlmHWwP5i7d+UByu0/ACAN4/VTsj8DkXwL8pLtPwAAOIvdLrQ/zlz7Zqxc7T8AwFeHWQa2P53eXqosJ+0/AABqNXbatz/NLGs+bvLsPwBgHE5Dq7k/Anmnom2+7D8AYA27x3i7P20IN20mi+w/ACDnMhNDvT8EWF29lFjsPwBg3nExCr8/jJ+7M7Um7D8AQJErFWfAPz/n7O6D9es/ALCSgoVHwT/Bltt1/cTrPwAwys1uJsI/KEqGDB6V6z8AUMWm1wPDPyw+78XiZes/ABAzPMPfwz+LiMlnSDfrPwCAems2usQ/SjAdIUsJ6z8A8NEoOZPFP37v8oXo2+o/APAYJM1qxj+iPWAxHa/qPwCQZuz4QMc/p1jTP+aC6j8A8Br1wBXIP4tzCe9AV+o/AID2VCnpyD8nS6uQKizqPwBA+AI2u8k/0fKTE6AB6j8AACwc7YvKPxs82ySf1+k/ANABXFFbyz+QsccFJa7pPwDAvMxnKcw/L86X8i6F6T8AYEjVNfbMP3VLpO66XOk/AMBGNL3BzT84SOedxjTpPwDgz7gBjM4/5lJnL08N6T8AkBfACVXPP53X/45S5ug/ALgfEmwO0D98AMyfzr/oPwDQkw64cdA/DsO+2sCZ6D8AcIaea9TQP/sXI6ondOg/ANBLM4c20T8ImrOsAE/oPwBII2cNmNE/VT5l6Ekq6D8AgMzg//jRP2AC9JUBBug/AGhj119Z0j8po+BjJeLnPwCoFAkwudI/rbXcd7O+5z8AYEMQchjTP8Ill2eqm+c/ABjsbSZ30z9XBhfyB3nnPwAwr/tP1dM/DBPW28pW5z8A4C/j7jLUPwBBgBgLgBBrtk8BABDmPzxbQpFsAn48lbRNAwAw5j9BXQBI6r+NPHjUlA0AUOY/t6XWhqd/jjytb04HAHDmP0wlVGvq/GE8rg/f/v+P5j/9DllMJ358vLzFYwcAsOY/AdrcSGjBirz2wVweANDmPxGTSZ0cP4M8PvYF6//v5j9TLeIaBIB+vICXhg4AEOc/UnkJcWb/ezwS6Wf8/y/nPySHvSbiAIw8ahGB3/9P5z/SAfFukQJuvJCcZw8AcOc/dJxUzXH8Z7w1yH76/4/nP4ME9Z7BvoE85sIg/v+v5z9lZMwpF35wvADJP+3/z+c/HIt7CHKAgLx2Gibp/+/nP675nW0owI086KOcBAAQ6D8zTOVR0n+JPI8skxcAMOg/gfMwtun+irycczMGAFDoP7w1ZWu/v4k8xolCIABw6D91exHzZb+LvAR59ev/j+g/V8s9om4AibzfBLwiALDoPwpL4DjfAH28ihsM5f/P6D8Fn/9GcQCIvEOOkfz/7+g/OHB60HuBgzzHX/oeABDpPwO033aRPok8uXtGEwAw6T92AphLToB/PG8H7ub/T+k/LmL/2fB+j7zREjze/2/pP7o4JpaqgnC8DYpF9P+P6T/vqGSRG4CHvD4umN3/r+k/N5NaiuBAh7xm+0nt/8/pPwDgm8EIzj88UZzxIADw6T8KW4gnqj+KvAawRREAEOo/VtpYmUj/dDz69rsHADDqPxhtK4qrvow8eR2XEABQ6j8weXjdyv6IPEgu9R0AcOo/26vYPXZBj7xSM1kcAJDqPxJ2woQCv468Sz5PKgCw6j9fP/88BP1pvNEertf/z+o/tHCQEuc+grx4BFHu/+/qP6PeDuA+Bmo8Ww1l2/8P6z+5Ch84yAZaPFfKqv7/L+s/HTwjdB4BebzcupXZ/0/rP58qhmgQ/3m8nGWeJABw6z8+T4bQRf+KPEAWh/n/j+s/+cPClnf+fDxPywTS/6/rP8Qr8u4n/2O8RVxB0v/P6z8h6jvut/9svN8JY/j/7+s/XAsulwNBgbxTdrXh/w/sPxlqt5RkwYs841f68f8v7D/txjCN7/5kvCTkv9z/T+w/dUfsvGg/hLz3uVTt/2/sP+zgU/CjfoQ81Y+Z6/+P7D/xkvmNBoNzPJohJSEAsOw/BA4YZI79aLycRpTd/8/sP3Lqxxy+fo48dsT96v/v7D/+iJ+tOb6OPCv4mhYAEO0/cVq5qJF9dTwd9w8NADDtP9rHcGmQwYk8xA956v9P7T8M/ljFNw5YvOWH3C4AcO0/RA/BTdaAf7yqgtwhAJDtP1xc/ZSPfHS8gwJr2P+v7T9+YSHFHX+MPDlHbCkA0O0/U7H/sp4BiDz1kETl/+/tP4nMUsbSAG48lParzf8P7j/SaS0gQIN/vN3IUtv/L+4/ZAgbysEAezzvFkLy/0/uP1GrlLCo/3I8EV6K6P9v7j9Zvu+xc/ZXvA3/nhEAkO4/AcgLXo2AhLxEF6Xf/6/uP7UgQ9UGAHg8oX8SGgDQ7j+SXFZg+AJQvMS8ugcA8O4/EeY1XURAhbwCjXr1/w/vPwWR7zkx+0+8x4rlHgAw7z9VEXPyrIGKPJQ0gvX/T+8/Q8fX1EE/ijxrTKn8/2/vP3V4mBz0AmK8QcT54f+P7z9L53f00X13PH7j4NL/r+8/MaN8mhkBb7ye5HccANDvP7GszkvugXE8McPg9//v7z9ah3ABNwVuvG5gZfT/D/A/2gocSa1+irxYeobz/y/wP+Cy/MNpf5e8Fw38/f9P8D9blMs0/r+XPIJNzQMAcPA/y1bkwIMAgjzoy/L5/4/wPxp1N77f/228ZdoMAQCw8D/rJuaufz+RvDjTpAEA0PA/959Iefp9gDz9/dr6/+/wP8Br1nAFBHe8lv26CwAQ8T9iC22E1ICOPF305fr/L/E/7zb9ZPq/nTzZmtUNAFDxP65QEnB3AJo8mlUhDwBw8T/u3uPi+f2NPCZUJ/z/j/E/c3I73DAAkTxZPD0SALDxP4gBA4B5f5k8t54p+P/P8T9njJ+rMvllvADUivT/7/E/61unnb9/kzykhosMABDyPyJb/ZFrgJ88A0OFAwAw8j8zv5/rwv+TPIT2vP//T/I/ci4ufucBdjzZISn1/2/yP2EMf3a7/H88PDqTFACQ8j8rQQI8ygJyvBNjVRQAsPI/Ah/yM4KAkrw7Uv7r/8/yP/LcTzh+/4i8lq24CwDw8j/FQTBQUf+FvK/ievv/D/M/nSheiHEAgbx/X6z+/y/zPxW3tz9d/5G8VmemDABQ8z+9gosign+VPCH3+xEAcPM/zNUNxLoAgDy5L1n5/4/zP1Gnsi2dP5S8QtLdBACw8z/hOHZwa3+FPFfJsvX/z/M/MRK/EDoCejwYtLDq/+/zP7BSsWZtf5g89K8yFQAQ9D8khRlfN/hnPCmLRxcAMPQ/Q1HccuYBgzxjtJXn/0/0P1qJsrhp/4k84HUE6P9v9D9U8sKbscCVvOfBb+//j/Q/cio68glAmzwEp77l/6/0P0V9Db+3/5S83icQFwDQ9D89atxxZMCZvOI+8A8A8PQ/HFOFC4l/lzzRS9wSABD1PzakZnFlBGA8eicFFgAw9T8JMiPOzr+WvExw2+z/T/U/16EFBXICibypVF/v/2/1PxJkyQ7mv5s8EhDmFwCQ9T+Q76+BxX6IPJI+yQMAsPU/wAy/CghBn7y8GUkdAND1PylHJfsqgZi8iXq45//v9T8Eae2At36UvA==");

// reservoir_book/explorables/playground/settings.mjs
var STANDARD = { width: 64, encoder: 2, decoder: 2, steps: 500, rate: 8e-3, warmup: 60, decay: 1e-4, smoothing: 0.1, keep: 0.5, seed: 0, parts: "" };
var RANGES = { width: [32, 48, 64, 96], encoder: [1, 2, 3], decoder: [1, 2, 3], steps: [50, 100, 200, 300, 500, 1e3], keep: [0.1, 0.9], rate: [1e-4, 1e3], seed: [0, 2 ** 32 - 1] };
var TAGGER = { width: [16, 32, 64], layers: [1, 2, 3, 4, 5, 6], steps: [100, 200, 500, 800, 1e3, 1500, 2e3, 3e3], keep: RANGES.keep, rate: RANGES.rate, seed: RANGES.seed };
var MASKS = 0.5;
var rangesOf = ({ task }) => task ? { ...TAGGER, steps: [.../* @__PURE__ */ new Set([...TAGGER.steps, task.steps])].sort((a, b) => a - b) } : RANGES;
var standardOf = (task) => task ? { task, width: 32, layers: task.layers, steps: task.steps, rate: task.rate, keep: MASKS, seed: 0, parts: "" } : STANDARD;
function partsOf({ task, layers, encoder, decoder }) {
  if (task) {
    const inner = ["attention", "feed_forward", "norms"];
    const of = (layer) => inner.map((kind) => ({ name: `encoder.${layer}.${kind}`, kind, side: "encoder", layer, letters: kind === "norms" ? "tf" : "tsmn" }));
    return [{ name: "embedding", kind: "embedding", letters: "tsm" }, ...Array.from({ length: layers }, (_, layer) => of(layer)).flat(), { name: "norm", kind: "norm", letters: "tf" }, { name: "readout", kind: "readout", letters: "ts" }];
  }
  const found = [{ name: "embedding", kind: "embedding", letters: "tsm" }];
  for (const [side, depth] of [["encoder", encoder], ["decoder", decoder]]) {
    for (let layer = 0; layer < depth; layer += 1) {
      const kinds = side === "encoder" ? ["attention", "feed_forward", "norms"] : ["attention", "cross", "feed_forward", "norms"];
      for (const kind of kinds) found.push({ name: `${side}.${layer}.${kind}`, kind, side, layer, letters: kind === "norms" ? "tf" : kind === "attention" && side === "encoder" ? "tsmf" : "tsm" });
    }
    found.push({ name: `${side}.norm`, kind: "norm", side, letters: "tf" });
  }
  return found;
}
var lettersOf = (settings) => new Map(partsOf(settings).map(({ name }, i) => [name, settings.parts[i] ?? "t"]));
function refused(settings) {
  const ranges = rangesOf(settings);
  for (const name of Object.keys(ranges).filter((one) => !["keep", "rate", "seed"].includes(one))) {
    if (!ranges[name].includes(settings[name])) return `${name} must be one of ${ranges[name].join(", ")}, got ${settings[name]}`;
  }
  for (const name of ["keep", "rate", "seed"]) {
    const [low, high] = ranges[name];
    if (!(settings[name] >= low && settings[name] <= high)) return `${name} must be from ${low} to ${high}, got ${settings[name]}`;
  }
  if (!Number.isInteger(settings.seed)) return `seed must be a whole number, got ${settings.seed}`;
  const all = partsOf(settings);
  if (settings.parts && settings.parts.length !== all.length) return `parts must have ${all.length} letters for ${settings.task ? settings.layers : `${settings.encoder} and ${settings.decoder}`} layers, got ${settings.parts.length}`;
  const wrong = all.findIndex(({ letters: letters2 }, i) => settings.parts && !letters2.includes(settings.parts[i]));
  if (wrong >= 0) return `the letter of ${all[wrong].name} must be one of ${[...all[wrong].letters].join(", ")}, got ${settings.parts[wrong]}`;
  if (![...lettersOf(settings).values()].some((letter) => letter === "t" || letter === "m")) return "nothing is left to train: every part is frozen";
  const letters = lettersOf(settings);
  const empty = Array.from({ length: settings.layers ?? 0 }, (_, layer) => layer).find((layer) => ["attention", "feed_forward"].every((kind) => letters.get(`encoder.${layer}.${kind}`) === "n"));
  if (empty !== void 0) return `layer ${empty + 1} has neither attention nor feed-forward: choose fewer layers in its place`;
  return void 0;
}
var KEYS = { b: "task", w: "width", l: "layers", e: "encoder", d: "decoder", n: "steps", r: "rate", k: "keep", s: "seed", p: "parts" };
function read(line, tasks = {}) {
  const words = line.split("_").filter(Boolean);
  const of = words.find(([key]) => key === "b")?.slice(1);
  if (of !== void 0 && !Object.hasOwn(tasks, of)) throw new Error(`the task must be one of ${Object.keys(tasks).join(", ") || "those that a page gives"}, got ${of.slice(0, 20) || "nothing"}`);
  const settings = { ...standardOf(tasks[of]) };
  for (const word of words) {
    const name = KEYS[word[0]];
    const value = word.slice(1);
    if (!name || !(name in settings)) throw new Error(`${word.slice(0, 20)} is no setting ${of ? `of the task ${of}` : "of the playground"}`);
    if (name === "task") continue;
    if (name !== "parts" && !(value && Number.isFinite(Number(value)))) throw new Error(`${name} must be a number, got ${value.slice(0, 20) || "nothing"}`);
    settings[name] = name === "parts" ? value : Number(value);
  }
  const why = refused(settings);
  if (why) throw new Error(why);
  return settings;
}

// reservoir_book/explorables/shared/records.mjs
var mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// reservoir_book/explorables/shared/svg.mjs
var SPACE = "http://www.w3.org/2000/svg";
var unique = () => `ex-${Math.random().toString(36).slice(2, 10)}`;
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== void 0 && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== void 0 && child !== null && child !== false && child !== ""));
  return element;
}
function ticks(low, high, count = 5) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
function logTicks(low, high, base = 10) {
  const from = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  const to = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const powers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => Number((base ** (from + i)).toPrecision(12)));
  if (base !== 10 || powers.length > 2) return powers;
  const all = [];
  for (let power = from - 1; power <= to; power += 1) all.push(...[1, 2, 5].map((factor) => Number((factor * 10 ** power).toPrecision(12))));
  return all.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}
function number(value, digits = 3) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : value === -Infinity ? "−∞" : "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
    return `${Number(mantissa)}·10^${Number(exponent)}`.replaceAll("-", "−");
  }
  const text = size >= 10 ** (digits - 1) ? String(Math.round(value)) : String(Number(value.toPrecision(digits)));
  const [whole2, part] = text.replace("-", "−").split(".");
  return whole2.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
}
function scale({ domain: [low, high], log = false }, from, to) {
  const at = log ? Math.log : (value) => value;
  const [a, b] = [at(low), at(high)];
  const span = b - a || 1;
  const map = (value) => from + (at(value) - a) / span * (to - from);
  map.invert = (pixel) => {
    const value = a + (pixel - from) / (to - from) * span;
    return log ? Math.exp(value) : value;
  };
  return map;
}
var clip = (value) => Math.max(-1e5, Math.min(1e5, value));
function path(xs, ys, x, y) {
  let text = "";
  let pen = "M";
  for (let i = 0; i < ys.length; i += 1) {
    if (!Number.isFinite(ys[i])) {
      pen = "M";
      continue;
    }
    text += `${pen}${clip(x(xs ? xs[i] : i)).toFixed(1)} ${clip(y(ys[i])).toFixed(1)}`;
    pen = "L";
  }
  return text;
}
var MARKS = {
  /** {x, y, origin, dash, width, faint}: x may be left out (0, 1, 2 …); a y that is no number is a gap. */
  line: (mark, x, y) => svg("path", { d: path(mark.x, mark.y, x, y), class: `ex-line ${mark.faint ? "ex-faint" : ""}`, "stroke-dasharray": mark.dash, style: mark.width && `stroke-width: ${mark.width}` }),
  /** {x, low, high, origin}: between two curves. */
  band: (mark, x, y) => {
    const there = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.high[i])).toFixed(1)}`);
    const back = mark.x.map((at, i) => `${clip(x(at)).toFixed(1)} ${clip(y(mark.low[i])).toFixed(1)}`).reverse();
    return svg("path", { d: `M${[...there, ...back].join("L")}Z`, class: "ex-band" });
  },
  /** {x, y, origin, size, shape, open}: points; shape is 'circle' or 'square', one for all or one each. */
  points: (mark, x, y) => Array.from(mark.x, (at, i) => {
    const size = mark.size ?? 3.5;
    const [cx, cy] = [clip(x(at)), clip(y(mark.y[i]))];
    const shape = Array.isArray(mark.shape) ? mark.shape[i] : mark.shape;
    const kind = `ex-point ${mark.open ? "ex-open" : ""}`;
    return shape === "square" ? svg("rect", { x: (cx - size).toFixed(1), y: (cy - size).toFixed(1), width: 2 * size, height: 2 * size, class: kind }) : svg("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: size, class: kind });
  }),
  /** {from, to, y, origin}: a histogram: bars between from[i] and to[i], as high as y[i]. */
  bars: (mark, x, y, box) => Array.from(mark.y, (value, i) => {
    const [left, right] = [x(mark.from[i]), x(mark.to[i])];
    const top = y(value);
    return svg("rect", { x: (left + 0.5).toFixed(1), y: top.toFixed(1), width: Math.max(0.5, right - left - 1).toFixed(1), height: Math.max(0, box.bottom - top).toFixed(1), class: "ex-bar" });
  }),
  /** {x} or {y}, {label, origin, dash}: a line across the whole plot. */
  rule: (mark, x, y, box) => {
    const upright = mark.x !== void 0;
    const at = upright ? x(mark.x) : y(mark.y);
    const ends = upright ? { x1: at, x2: at, y1: box.top, y2: box.bottom } : { x1: box.left, x2: box.right, y1: at, y2: at };
    const label = mark.label && svg("text", upright ? { x: at + 4, y: box.top + 11 } : { x: box.right - 4, y: at - 4, "text-anchor": "end" }, mark.label);
    return [svg("line", { ...ends, class: "ex-rule", "stroke-dasharray": mark.dash ?? "4 3" }), label];
  },
  /** {from, to} along x: a stretch of the plot, shaded. */
  span: (mark, x, y, box) => svg("rect", { x: x(mark.from), width: Math.max(0, x(mark.to) - x(mark.from)), y: box.top, height: box.bottom - box.top, class: "ex-span" })
};
function chart({ height = 260, square = false, ...options }) {
  const drawing = svg("svg", { class: "ex-chart", role: "img", "aria-label": options.label ?? "" });
  const legend = Object.assign(document.createElement("div"), { className: "ex-legend" });
  const element = Object.assign(document.createElement("div"), { className: "ex-figure" });
  element.append(drawing, legend);
  const clipId = unique();
  let state = { marks: [], ...options };
  let width = 0;
  let shownLegend = "";
  function draw() {
    width = element.clientWidth;
    if (!width) return;
    const tall = square ? Math.min(width, height) : height;
    const box = { left: 52, right: width - 17, top: 10, bottom: tall - 40 };
    const x = scale(state.x, box.left, box.right);
    const y = scale(state.y, box.bottom, box.top);
    drawing.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", tall);
    const axis = (side) => {
      const of = state[side];
      const count = side === "x" ? Math.max(2, Math.round(width / 90)) : Math.max(2, Math.round(tall / 55));
      const at = of.ticks ?? (of.log ? logTicks(...of.domain, of.base) : ticks(...of.domain, count));
      return at.map((tick) => {
        const text = (of.format ?? number)(tick);
        return side === "x" ? [svg("line", { class: "ex-grid", x1: x(tick), x2: x(tick), y1: box.top, y2: box.bottom }), svg("text", { class: "ex-tick", x: x(tick), y: box.bottom + 15, "text-anchor": "middle" }, text)] : [svg("line", { class: "ex-grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }), svg("text", { class: "ex-tick", x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, text)];
      });
    };
    const marks = state.marks.filter(Boolean).map((mark) => svg("g", { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ""}` }, MARKS[mark.kind](mark, x, y, box)));
    drawing.replaceChildren(
      svg("defs", {}, svg("clipPath", { id: clipId }, svg("rect", { x: box.left - 5, y: box.top - 5, width: box.right - box.left + 10, height: box.bottom - box.top + 10 }))),
      ...axis("x").flat(),
      ...axis("y").flat(),
      svg("g", { "clip-path": `url(#${clipId})` }, marks),
      svg("text", { class: "ex-title", x: (box.left + box.right) / 2, y: tall - 6, "text-anchor": "middle" }, state.x.label ?? ""),
      svg("text", { class: "ex-title", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, state.y.label ?? "")
    );
    element.scales = { x, y, box };
    drawLegend();
  }
  function drawLegend() {
    const named = state.marks.filter((mark) => mark?.name);
    const written = named.map((mark) => [mark.kind, mark.name, mark.origin, mark.dash, mark.open, mark.shape].join()).join(";");
    if (written === shownLegend) return;
    shownLegend = written;
    legend.replaceChildren(...named.map((mark) => {
      const sample = svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, svg("g", { class: `ex-mark ${mark.origin ? `ex-${mark.origin}` : ""}` }, swatch(mark)));
      const entry = Object.assign(document.createElement("span"), { className: "ex-key" });
      entry.append(sample, mark.name);
      return entry;
    }));
  }
  const watcher = new ResizeObserver(() => {
    if (element.clientWidth !== width) draw();
  });
  watcher.observe(element);
  return {
    element,
    update(changes) {
      for (const side of ["x", "y"]) if (changes[side]) changes = { ...changes, [side]: { ...state[side], ...changes[side] } };
      state = { ...state, ...changes };
      if (changes.label) drawing.setAttribute("aria-label", changes.label);
      draw();
    },
    /** Where a pointer event lies, in the units of the axes. */
    at(event) {
      const { left, top } = drawing.getBoundingClientRect();
      return { x: element.scales.x.invert(event.clientX - left), y: element.scales.y.invert(event.clientY - top) };
    },
    close: () => watcher.disconnect()
  };
}
function swatch(mark) {
  if (mark.kind === "line" || mark.kind === "rule") return svg("line", { x1: 0, x2: 22, y1: 6, y2: 6, class: mark.kind === "line" ? "ex-line" : "ex-rule", "stroke-dasharray": mark.dash ?? (mark.kind === "rule" ? "4 3" : void 0) });
  if (mark.kind === "points") return mark.shape === "square" ? svg("rect", { x: 7, y: 2, width: 8, height: 8, class: `ex-point ${mark.open ? "ex-open" : ""}` }) : svg("circle", { cx: 11, cy: 6, r: 4, class: `ex-point ${mark.open ? "ex-open" : ""}` });
  return svg("rect", { x: 3, y: 1, width: 16, height: 10, class: mark.kind === "bars" ? "ex-bar" : mark.kind === "band" ? "ex-band" : "ex-span" });
}
function heatmap({ origin = "trained", label = "", cell = 28 } = {}) {
  const drawing = svg("svg", { class: `ex-heatmap ex-${origin}`, "aria-hidden": "true" });
  const named = (text) => {
    if (!text) return;
    drawing.removeAttribute("aria-hidden");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", text);
  };
  named(label);
  const element = Object.assign(document.createElement("div"), { className: "ex-figure" });
  element.append(drawing);
  return {
    element,
    update({ values, rows, cols, max = 1, rowLabels = [], colLabels = [], label: shown }) {
      const room = rowLabels.length ? Math.min(120, 12 + 7 * Math.max(...rowLabels.map((text) => text.length))) : 4;
      const above = colLabels.length ? Math.min(90, 10 + 6 * Math.max(...colLabels.map((text) => text.length))) : 4;
      const side = Math.max(2, Math.min(cell, ((element.clientWidth || 320) - room - 12) / cols));
      drawing.setAttribute("width", room + side * cols + 8);
      drawing.setAttribute("height", above + side * rows + 4);
      named(shown);
      const cells = [];
      for (let i = 0; i < rows; i += 1) {
        for (let j = 0; j < cols; j += 1) {
          const share = Math.max(0, Math.min(1, values[i * cols + j] / max));
          cells.push(svg("rect", { class: "ex-cell", x: room + j * side, y: above + i * side, width: Math.max(1, side - 1), height: Math.max(1, side - 1), "fill-opacity": (0.04 + 0.96 * share).toFixed(3) }));
        }
      }
      drawing.replaceChildren(
        ...cells,
        ...rowLabels.map((text, i) => svg("text", { class: "ex-tick", x: room - 5, y: above + (i + 0.5) * side + 4, "text-anchor": "end" }, text)),
        ...colLabels.map((text, j) => svg("text", { class: "ex-tick", transform: `translate(${room + (j + 0.5) * side + 4} ${above - 5}) rotate(-50)` }, text))
      );
    }
  };
}

// reservoir_book/explorables/shared/ui.mjs
var QUIET = 900;
function html(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === void 0 || value === null || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  if (text !== void 0) element.textContent = text;
  element.append(...children.flat(Infinity).filter((child) => child !== void 0 && child !== null && child !== false));
  return element;
}
var clamp = (value, low, high) => Math.min(Math.max(value, low), high);
var snapped = (value, { min, max, step }) => clamp(Number((min + Math.round((value - min) / step) * step).toPrecision(12)), min, max);
function explorable({ model, el }) {
  const mine = unique();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const controls = html("div", { class: "ex-controls" });
  const stage = html("div", { class: "ex-stage" });
  const words = html("p", { class: "ex-words", text: model.get("text") ?? "" });
  const status = html("p", { class: "ex-hidden", role: "status" });
  const foot = html("div", { class: "ex-foot" });
  const root = html("div", { class: "ex", role: "group", "aria-label": model.get("label") ?? "" }, controls, stage, words, status, foot);
  if (!model.book) {
    root.dataset.lmSuppressShortcuts = "true";
    root.addEventListener("keydown", (event) => event.stopPropagation());
  }
  el.replaceChildren(root);
  const names = [];
  const closing = [() => document.removeEventListener("book:theme", redraw)];
  const first = {};
  let painter;
  let frame = 0;
  let quiet = 0;
  let open = true;
  function paint() {
    frame = 0;
    if (open && painter) painter(state());
  }
  const state = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const redraw = () => {
    frame ||= requestAnimationFrame(paint);
  };
  document.addEventListener("book:theme", redraw);
  function set(name, value) {
    if (Object.is(model.get(name), value)) return;
    model.set(name, value);
    model.save_changes();
  }
  function bind(name, { show, parse, write = String }) {
    if (model.get(name) === void 0) throw new Error(`the model has no setting "${name}": declare it in the Python class, with .tag(sync=True)`);
    names.push(name);
    first[name] = model.get(name);
    const told = model.book?.address.get(name);
    if (told !== void 0) {
      const value = parse(told);
      if (value !== void 0) set(name, value);
    }
    const follow = () => {
      const value = model.get(name);
      show(value);
      model.book?.address.set(name, Object.is(value, first[name]) ? void 0 : write(value));
      redraw();
    };
    model.on(`change:${name}`, follow);
    closing.push(() => model.off(`change:${name}`, follow));
    show(model.get(name));
  }
  const field = (label, input, { output, kind = "", hint } = {}) => {
    const box = html(
      "div",
      { class: `ex-field ${kind}` },
      html("label", { for: input.id }, html("span", { class: "ex-name", text: label }), output),
      input,
      hint && html("span", { class: "ex-hint", id: `${input.id}-hint`, text: hint })
    );
    if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
    controls.append(box);
    return box;
  };
  const ui = {
    root,
    controls,
    stage,
    model,
    /** Whether the reader asked for less motion: then show the end of what others see move. */
    get still() {
      return still.matches;
    },
    state,
    set,
    redraw,
    /**
     * A slider for a number. `log: true` spaces it by factors (with `min` above 0); `step` is what values snap to.
     * @param {{label: string, min: number, max: number, step?: number, log?: boolean, format?: (value: number) => string, hint?: string}} options
     */
    slider(name, { label, min, max, step = 1, log = false, format = number, hint }) {
      const STOPS = 400;
      const range2 = { min, max, step };
      const id = `${mine}-${name}`;
      const output = html("output", { for: id });
      const input = html("input", { type: "range", id, ...log ? { min: 0, max: STOPS, step: 1 } : range2 });
      const place = (value) => log ? STOPS * Math.log(value / min) / Math.log(max / min) : value;
      const read2 = () => log ? snapped(min * (max / min) ** (Number(input.value) / STOPS), range2) : Number(input.value);
      input.addEventListener("input", () => {
        const value = read2();
        output.textContent = format(value);
        input.setAttribute("aria-valuetext", format(value));
        set(name, value);
      });
      if (log) {
        input.addEventListener("keydown", (event) => {
          const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (!way) return;
          event.preventDefault();
          const now = model.get(name);
          let next = now;
          for (let stop = Math.round(place(now)) + way; next === now && stop >= 0 && stop <= STOPS; stop += way) next = snapped(min * (max / min) ** (stop / STOPS), range2);
          set(name, next);
        });
      }
      field(label, input, { output, kind: "ex-range", hint });
      bind(name, {
        parse: (text) => {
          const value = Number(text);
          return text.trim() && Number.isFinite(value) ? snapped(value, range2) : void 0;
        },
        show(value) {
          if (read2() !== value) input.value = place(value);
          output.textContent = format(value);
          input.setAttribute("aria-valuetext", format(value));
        }
      });
      return input;
    },
    /** A box for a number: a seed, a size. */
    number(name, { label, min = 0, max = Number.MAX_SAFE_INTEGER, step = 1, hint }) {
      const range2 = { min, max, step };
      const input = html("input", { type: "number", id: `${mine}-${name}`, ...range2, inputmode: "numeric" });
      const read2 = (text) => {
        const value = Number(text);
        return text.trim() && Number.isFinite(value) ? snapped(value, range2) : void 0;
      };
      input.addEventListener("input", () => {
        const value = read2(input.value);
        if (value !== void 0 && value === Number(input.value)) set(name, value);
      });
      input.addEventListener("change", () => {
        set(name, read2(input.value) ?? model.get(name));
        input.value = model.get(name);
      });
      field(label, input, { hint });
      bind(name, { parse: read2, show: (value) => {
        if (read2(input.value) !== value) input.value = value;
      } });
      return input;
    },
    /** One of a few: `options` is [[value, label], …]. */
    choice(name, { label, options }) {
      const values = new Map(options.map(([value, text]) => [String(value), { value, text }]));
      const inputs = options.map(([value, text], i) => {
        const input = html("input", { type: "radio", name: `${mine}-${name}`, id: `${mine}-${name}-${i}`, value: String(value) });
        input.addEventListener("change", () => {
          if (input.checked) set(name, value);
        });
        return [input, html("label", { for: input.id, text })];
      });
      controls.append(html("fieldset", { class: "ex-field ex-choice" }, html("legend", { class: "ex-name", text: label }), html("div", { class: "ex-options" }, inputs)));
      bind(name, {
        parse: (text) => values.get(text)?.value,
        show(value) {
          for (const [input] of inputs) input.checked = input.value === String(value);
        }
      });
      return inputs.map(([input]) => input);
    },
    /** One of many: a list to unfold. `options` is [[value, label], …]. */
    select(name, { label, options }) {
      const values = new Map(options.map(([value]) => [String(value), value]));
      const input = html("select", { id: `${mine}-${name}` }, options.map(([value, text]) => html("option", { value: String(value), text })));
      input.addEventListener("change", () => set(name, values.get(input.value)));
      field(label, input);
      bind(name, { parse: (text) => values.get(text), show(value) {
        input.value = String(value);
      } });
      return input;
    },
    toggle(name, { label }) {
      const input = html("input", { type: "checkbox", id: `${mine}-${name}` });
      input.addEventListener("change", () => set(name, input.checked));
      controls.append(html("div", { class: "ex-field ex-toggle" }, input, html("label", { for: input.id, text: label })));
      bind(name, {
        parse: (text) => ({ 1: true, 0: false })[text],
        write: (value) => value ? "1" : "0",
        show(value) {
          input.checked = value;
        }
      });
      return input;
    },
    /** A line of text. */
    text(name, { label, maxLength = 200, hint, lang }) {
      const input = html("input", { type: "text", id: `${mine}-${name}`, maxlength: maxLength, autocomplete: "off", spellcheck: "false", lang });
      input.addEventListener("input", () => set(name, input.value));
      field(label, input, { kind: "ex-line-of-text", hint });
      bind(name, { parse: (text) => text.slice(0, maxLength), show: (value) => {
        if (input.value !== value) input.value = value;
      } });
      return input;
    },
    /** A setting without a control of its own, kept in the address all the same: what was tapped in a drawing. */
    setting(name, { parse = (text) => text, write = String } = {}) {
      bind(name, { parse, write, show: () => {
      } });
    },
    button(label, onClick) {
      const button = html("button", { type: "button", text: label });
      button.addEventListener("click", onClick);
      controls.append(html("div", { class: "ex-field ex-action" }, button));
      return button;
    },
    chart(options) {
      const made = chart(options);
      stage.append(made.element);
      closing.push(made.close);
      return made;
    },
    heatmap(options) {
      const made = heatmap(options);
      stage.append(made.element);
      return made;
    },
    /** What is shown, in a sentence or two. Read aloud once nothing has changed for a moment. */
    say(sentence) {
      if (words.textContent === sentence) return;
      words.textContent = sentence;
      clearTimeout(quiet);
      quiet = setTimeout(() => {
        if (open) status.textContent = sentence;
      }, QUIET);
    },
    /** What draws; called with all settings, once a frame at most, whenever one has changed, and once at first. */
    draw(draw) {
      painter = draw;
      const box = new ResizeObserver(() => {
        if (stage.clientWidth) {
          box.disconnect();
          redraw();
        }
      });
      box.observe(stage);
      closing.push(() => box.disconnect());
      draw(state());
    },
    /**
     * Calls `step(seconds since the last call)` each frame until it returns false or `stop()` of what is returned here
     * is called. A reader who wants less motion gets no frames: step(Infinity) once, to show the end.
     */
    animate(step) {
      let last;
      let id = 0;
      if (still.matches) {
        step(Infinity);
        return { stop() {
        } };
      }
      const next = (now) => {
        const go = open && step(last === void 0 ? 0 : Math.min(0.1, (now - last) / 1e3)) !== false;
        last = now;
        id = go ? requestAnimationFrame(next) : 0;
      };
      id = requestAnimationFrame(next);
      const stop = () => cancelAnimationFrame(id);
      closing.push(stop);
      return { stop };
    },
    /** The plotly figure with a label (`fig-…`) on the same page, once it is drawn: {restyle, relayout}; else undefined. */
    figure: (label) => model.book?.figure(label, redraw),
    close() {
      open = false;
      cancelAnimationFrame(frame);
      clearTimeout(quiet);
      closing.forEach((end) => end());
    }
  };
  ui.close = ui.close.bind(ui);
  closing.push(footer(ui, foot, first));
  return ui;
}
function footer({ model, set }, foot, first) {
  const again = html("button", { type: "button", class: "ex-quiet", text: "Start again" });
  again.addEventListener("click", () => Object.entries(first).forEach(([name, value]) => set(name, value)));
  foot.append(again);
  let back = 0;
  if (model.book) {
    const copy = html("button", { type: "button", class: "ex-quiet", text: "Copy a link to this" });
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(model.book.address.link());
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "It stands in the address bar";
      }
      clearTimeout(back);
      back = setTimeout(() => {
        copy.textContent = "Copy a link to this";
      }, 2e3);
    });
    foot.append(copy);
  }
  return () => clearTimeout(back);
}

// worker:reservoir_book/explorables/front_table/worker.mjs
var worker_default = '(() => {\n  // reservoir_book/explorables/shared/draws.mjs\n  var HALVES = 8;\n  var INDEX = 2 ** 21;\n  var extent = (n) => {\n    if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n must be a whole number, 0 or more, got ${n}`);\n    return n;\n  };\n  function uniform(stream, n, { bound, start = 0 }) {\n    const scale = Math.fround(bound * 2 ** -23);\n    const words3 = stream.words(start, start + extent(n));\n    const drawn2 = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) drawn2[i] = ((words3[i] >>> 8) - 2 ** 23) * scale;\n    return drawn2;\n  }\n  function sign(stream, n, { scale = 1, start = 0 } = {}) {\n    const size = Math.fround(scale);\n    const first = Math.floor(start / 32);\n    const words3 = stream.words(first, Math.ceil((start + extent(n)) / 32));\n    const drawn2 = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) {\n      const bit = start - 32 * first + i;\n      drawn2[i] = words3[bit >>> 5] >>> (bit & 31) & 1 ? size : -size;\n    }\n    return drawn2;\n  }\n  function normal(stream, n, { std, start = 0 }) {\n    const scale = Math.fround(std / Math.sqrt(HALVES * (2 ** 32 - 1) / 3));\n    const words3 = stream.blocks(start, start + extent(n));\n    const drawn2 = new Float32Array(n);\n    for (let i = 0; i < n; i += 1) {\n      let total = 0;\n      for (let at = 4 * i; at < 4 * i + 4; at += 1) total += (words3[at] & 65535) + (words3[at] >>> 16);\n      drawn2[i] = (2 * total - HALVES * 65535) * scale;\n    }\n    return drawn2;\n  }\n\n  // reservoir_book/explorables/shared/philox.mjs\n  var [M0, M1] = [3528531795, 3449720151];\n  var KEY_STEPS = [2654435769, 3144134277];\n  var ROUNDS = 10;\n  var TWO32 = 2 ** 32;\n  var [M0_LOW, M0_HIGH, M1_LOW, M1_HIGH] = [M0, M1].flatMap((m) => [m & 65535, m >>> 16]);\n  function keySchedule(low, high) {\n    const keys = new Int32Array(2 * ROUNDS);\n    for (let round = 0; round < ROUNDS; round += 1) {\n      keys[2 * round] = low + Math.imul(round, KEY_STEPS[0]);\n      keys[2 * round + 1] = high + Math.imul(round, KEY_STEPS[1]);\n    }\n    return keys;\n  }\n  function fill(out, low, high, count, keys, hashLow, hashHigh) {\n    for (let at = 0; at < count; at += 1) {\n      let c0 = low + at | 0;\n      let c1 = high + Math.floor((low + at) / TWO32) | 0;\n      let c2 = hashLow;\n      let c3 = hashHigh;\n      for (let round = 0; round < 2 * ROUNDS; round += 2) {\n        const low0 = c0 & 65535;\n        const high0 = c0 >>> 16;\n        const one0 = Math.imul(high0, M0_LOW);\n        const other0 = Math.imul(low0, M0_HIGH);\n        const carry0 = (one0 & 65535) + (other0 & 65535) + (Math.imul(low0, M0_LOW) >>> 16);\n        const upper0 = Math.imul(high0, M0_HIGH) + (one0 >>> 16) + (other0 >>> 16) + (carry0 >>> 16) | 0;\n        const low1 = c2 & 65535;\n        const high1 = c2 >>> 16;\n        const one1 = Math.imul(high1, M1_LOW);\n        const other1 = Math.imul(low1, M1_HIGH);\n        const carry1 = (one1 & 65535) + (other1 & 65535) + (Math.imul(low1, M1_LOW) >>> 16);\n        const upper1 = Math.imul(high1, M1_HIGH) + (one1 >>> 16) + (other1 >>> 16) + (carry1 >>> 16) | 0;\n        const lower0 = Math.imul(c0, M0);\n        const lower1 = Math.imul(c2, M1);\n        c0 = upper1 ^ c1 ^ keys[round];\n        c1 = lower1;\n        c2 = upper0 ^ c3 ^ keys[round + 1];\n        c3 = lower0;\n      }\n      out[4 * at] = c0;\n      out[4 * at + 1] = c1;\n      out[4 * at + 2] = c2;\n      out[4 * at + 3] = c3;\n    }\n    return out;\n  }\n  function nameHash(name) {\n    let value = 0xcbf29ce484222325n;\n    for (const byte of new TextEncoder().encode(name)) value = (value ^ BigInt(byte)) * 0x100000001b3n & 0xffffffffffffffffn;\n    return value;\n  }\n  function seedOf(given) {\n    const whole = typeof given === "bigint" || Number.isSafeInteger(given) || typeof given === "string" && /^\\d+$/.test(given);\n    const seed = whole ? BigInt(given) : -1n;\n    if (seed < 0n || seed >= 2n ** 64n) throw new RangeError(`seed must be an integer in [0, 2**64), got ${String(given)}; write one above 2**53 as text or BigInt`);\n    return seed;\n  }\n  var Stream = class _Stream {\n    constructor(seed, name) {\n      if (typeof name !== "string") throw new TypeError(`name must be a string, got ${String(name)}`);\n      this.seed = seedOf(seed);\n      this.name = name;\n      const hash = nameHash(name);\n      const halves = (value) => [Number(value & 0xffffffffn) | 0, Number(value >> 32n) | 0];\n      this.hash = halves(hash);\n      this.keys = keySchedule(...halves(this.seed));\n    }\n    /** The stream of the same seed named `<name>/<part>`. */\n    sub(part) {\n      return new _Stream(this.seed, `${this.name}/${part}`);\n    }\n    /** Blocks first … last, the latter left out, four words each: a Uint32Array. */\n    blocks(first, last) {\n      const count = last - first;\n      return fill(new Uint32Array(4 * count), first % TWO32, Math.floor(first / TWO32), count, this.keys, ...this.hash);\n    }\n    /** Words start … stop, the latter left out: a Uint32Array. */\n    words(start, stop) {\n      if (!(Number.isSafeInteger(start) && Number.isSafeInteger(stop) && start >= 0 && start <= stop)) {\n        throw new RangeError(`start and stop must satisfy 0 <= start <= stop, got ${start} and ${stop}`);\n      }\n      const first = Math.floor(start / 4);\n      const drawn2 = this.blocks(first, Math.ceil(stop / 4));\n      return drawn2.subarray(start - 4 * first, stop - 4 * first);\n    }\n  };\n\n  // reservoir_book/explorables/playground/engine.mjs\n  var PAGE = 65536;\n  var CLIP = 1;\n  var [BETA1, BETA2, EPSILON] = [0.9, 0.98, 1e-8];\n  function drawn(seed, { stream, shape, kind, blocks, std, padded, signs }, keep = 1) {\n    const n = shape.reduce((a, b) => a * b, 1);\n    if (shape.length === 1) return new Float32Array(n).fill(kind === "gain" ? 1 : 0);\n    const larger = Math.sqrt(1 / keep);\n    const words3 = new Stream(seed, stream);\n    if (signs && keep < 1) return sign(words3, n, { scale: Math.SQRT2 / Math.sqrt(shape[1]) * larger }).fill(0, 0, padded ? shape[1] : 0);\n    if (kind === "table") return normal(words3, n, { std: (std ?? shape[1] ** -0.5) * larger }).fill(0, 0, padded ? shape[1] : 0);\n    const gain = blocks ? 2 ** -0.5 : 1;\n    return uniform(words3, n, { bound: gain * Math.sqrt(6 / (shape[1] + shape[0] / (blocks ?? 1))) * larger });\n  }\n  var scored = (seed, { stream, shape }) => uniform(new Stream(seed, `${stream}.scores`), shape[0] * shape[1], { bound: Math.sqrt(6 / ((1 + Math.sqrt(5) * Math.sqrt(5)) * shape[1])) });\n  function kept(n, keep) {\n    const low = Math.floor(keep * n);\n    const over = keep * n - low;\n    return over > 0.5 || over === 0.5 && low % 2 ? low + 1 : low;\n  }\n  var Bench = class {\n    constructor(module) {\n      this.memory = new WebAssembly.Memory({ initial: 1 });\n      this.k = new WebAssembly.Instance(module, { env: { memory: this.memory, abort() {\n        throw new Error("the kernels stopped");\n      } } }).exports;\n    }\n  };\n  var MAPS = { attention: ["qkv", "out"], cross: ["query", "kv", "out"], feed_forward: ["up", "down"], fourier: [] };\n  var Engine = class {\n    /**\n     * @param {WebAssembly.Module|Bench} place kernels.wasm, or where engines take turns (`enter`)\n     * @param {object} settings width, keep, seed and decay among them\n     * @param {object[]} tensors as settings.mjs lists them; one that is `spread` has groups of rows that begin `wide` apart\n     * @param {{heads: number, wide: number, tokens: number, longest: number}} sizes of a batch at most `tokens` rows, of a sentence at most `longest`\n     */\n    constructor(place, settings, tensors, { heads, wide, tokens: tokens2, longest }) {\n      this.bench = place instanceof Bench ? place : new Bench(place);\n      const d = settings.width;\n      Object.assign(this, { settings, d, ff: wide, heads, tokens: tokens2, longest, operations: 0 });\n      let end = PAGE;\n      const room = (n) => {\n        const at2 = end;\n        end += Math.ceil(n / 4) * 16;\n        return at2;\n      };\n      const rows = (n) => room((tokens2 + 4) * n);\n      this.tensors = tensors.map((tensor) => {\n        const masked = tensor.origin === "masked";\n        const n = tensor.shape.reduce((a, b) => a * b, 1);\n        return { ...tensor, masked, moves: masked || tensor.origin === "trained", n, room: tensor.spread ? tensor.spread.groups * tensor.spread.wide * d : n };\n      });\n      this.named = new Map(this.tensors.map((tensor) => [tensor.stream, tensor]));\n      this.masks = this.tensors.filter(({ masked }) => masked);\n      this.multiplied = this.tensors.filter(({ shape, looked }) => shape.length === 2 && !looked);\n      this.turning = this.multiplied.filter(({ moves }) => moves);\n      this.moving = this.tensors.reduce((sum, tensor) => sum + (tensor.moves ? tensor.room : 0), 0);\n      Object.assign(this, { values: room(this.moving), first: room(this.moving), second: room(this.moving) });\n      let at = 0;\n      for (const tensor of this.tensors) {\n        if (tensor.moves) {\n          tensor.place = at;\n          at += tensor.room;\n        }\n        tensor.weight = tensor.moves && !tensor.masked ? this.values + 4 * tensor.place : room(tensor.room);\n      }\n      const tables = this.tables(room);\n      this.lasting = [PAGE / 4, end / 4];\n      this.grads = room(this.moving);\n      const inner = end;\n      for (const tensor of this.masks) Object.assign(tensor, { scores: this.values + 4 * tensor.place, scoreGrad: this.grads + 4 * tensor.place, grad: room(tensor.room) });\n      this.masked = [inner, end];\n      for (const tensor of this.tensors) {\n        if (tensor.moves && !tensor.masked) tensor.grad = this.grads + 4 * tensor.place;\n        tensor.used = tensor.masked ? room(tensor.room) : tensor.weight;\n      }\n      for (const tensor of this.multiplied) tensor.turned = room(tensor.room);\n      Object.assign(this, { tiles: room(64 * 128), counts: room(2048), sums: room(4), row: room(64) });\n      this.lay(rows, room, { get end() {\n        return end;\n      }, set end(value) {\n        end = value;\n      } });\n      this.k = this.bench.k;\n      const missing = Math.ceil(end / PAGE) + 1 - this.bench.memory.buffer.byteLength / PAGE;\n      if (missing > 0) this.bench.memory.grow(missing);\n      this.enter();\n      tables?.();\n      this.reset(settings.seed);\n    }\n    /** Room for what is fixed and must last; returns what fills it. */\n    tables() {\n    }\n    /** Begin a turn: what the engine before has learned is put aside, and what this one has learned comes back. */\n    enter() {\n      const { bench } = this;\n      if (bench.user === this) return;\n      bench.user?.leave();\n      bench.user = this;\n      const { buffer } = bench.memory;\n      this.f = new Float32Array(buffer);\n      this.i = new Int32Array(buffer);\n      this.losses = new Float64Array(buffer, this.sums, 2);\n      if (!this.aside) return;\n      this.f.set(this.aside, this.lasting[0]);\n      this.apply(this.masks, this.multiplied);\n    }\n    leave() {\n      const { buffer } = this.bench.memory;\n      const [from, to] = this.lasting;\n      this.aside ??= new Float32Array(to - from);\n      this.aside.set(new Float32Array(buffer, 4 * from, to - from));\n    }\n    /** End the last turn: nothing of this engine is kept. */\n    close() {\n      if (this.bench.user === this) this.bench.user = void 0;\n    }\n    norm(stream) {\n      return { w: this.named.get(stream), b: this.named.get(`${stream}.bias`) };\n    }\n    /**\n     * Room for sublayers, from the bottom up, and for the norm above them.\n     * @param {{kind: string, part: string, norm: string, causal: boolean, spans: number}[]} subs\n     */\n    stack(subs, last, rows) {\n      const { d, ff, named, heads, longest } = this;\n      const base = () => ({ x: rows(d), h: rows(d), stats: rows(2) });\n      const top = { ...base(), norm: this.norm(last) };\n      const layers = subs.map((sub) => {\n        const layer = { ...sub, ...base(), norm: this.norm(sub.norm) };\n        for (const name of MAPS[layer.kind]) layer[name] = { w: named.get(`${layer.part}.${name}`), b: named.get(`${layer.part}.${name}.bias`) };\n        if (layer.kind === "attention" || layer.kind === "cross") Object.assign(layer, { weights: rows(heads * longest), o: rows(d) });\n        if (layer.kind === "attention") layer.made = rows(3 * d);\n        if (layer.kind === "cross") Object.assign(layer, { q: rows(d), made: rows(2 * d) });\n        if (layer.kind === "feed_forward") layer.made = rows(ff);\n        layer.moves = ["norm", ...MAPS[layer.kind]].some((name) => layer[name].w.moves || layer[name].b.moves);\n        return layer;\n      });\n      layers.forEach((layer, i) => {\n        layer.next = (layers[i + 1] ?? top).x;\n      });\n      return { layers, top, bottom: (layers[0] ?? top).x };\n    }\n    /** Draw everything from the seed, and forget what was learned. */\n    reset(seed) {\n      this.seed = seed;\n      this.step = 0;\n      for (const moments of [this.first, this.second]) this.f.fill(0, moments / 4, moments / 4 + this.moving);\n      for (const tensor of this.tensors) {\n        this.put(tensor, drawn(seed, tensor, tensor.masked ? this.settings.keep : 1), tensor.weight / 4);\n        if (tensor.masked) this.put(tensor, scored(seed, tensor), tensor.scores / 4);\n      }\n      this.apply(this.masks, this.multiplied);\n    }\n    /** What products use: the weights that masks keep, and transposes. */\n    apply(masks, turning) {\n      for (let t = 0; t < masks.length; t += 1) this.k.choose(masks[t].scores, masks[t].weight, masks[t].used, masks[t].n, kept(masks[t].n, this.settings.keep), this.counts);\n      for (let t = 0; t < turning.length; t += 1) {\n        const { used, turned, shape, room } = turning[t];\n        this.k.transpose(used, turned, room / shape[1], shape[1]);\n      }\n    }\n    // ---- looking in: tests, pictures and files ----\n    placeOf(tensor, what) {\n      return (what === "first" || what === "second" ? this[what] + 4 * tensor.place : tensor[what]) / 4;\n    }\n    put({ n, spread, room }, values, at) {\n      if (!spread) {\n        this.f.set(values, at);\n        return;\n      }\n      const size = n / spread.groups;\n      this.f.fill(0, at, at + room);\n      for (let g = 0; g < spread.groups; g += 1) this.f.set(values.subarray(g * size, (g + 1) * size), at + g * spread.wide * this.d);\n    }\n    /** A copy of a tensor\'s \'weight\', of what is \'used\' of it, of its \'scores\', of its \'grad\' or \'scoreGrad\', or of Adam\'s moments, \'first\' and \'second\'. */\n    read(stream, what = "weight") {\n      const { n, spread, ...tensor } = this.named.get(stream);\n      const at = this.placeOf(tensor, what);\n      if (!spread) return this.f.slice(at, at + n);\n      const [found, size] = [new Float32Array(n), n / spread.groups];\n      for (let g = 0; g < spread.groups; g += 1) {\n        const from = at + g * spread.wide * this.d;\n        found.set(this.f.subarray(from, from + size), g * size);\n      }\n      return found;\n    }\n    /** Put numbers there. */\n    write(stream, values, what = "weight") {\n      const tensor = this.named.get(stream);\n      this.put(tensor, values, this.placeOf(tensor, what));\n      this.apply(tensor.masked ? [tensor] : [], tensor.turned ? [tensor] : []);\n    }\n    /** The bits of a mask: 1 where a weight is kept, by the scores as they are. */\n    bits(stream) {\n      const { n, scores, grad, scoreGrad } = this.named.get(stream);\n      this.f.fill(1, grad / 4, grad / 4 + n);\n      this.k.choose(scores, grad, scoreGrad, n, kept(n, this.settings.keep), this.counts);\n      return Uint8Array.from(this.f.subarray(scoreGrad / 4, scoreGrad / 4 + n));\n    }\n    /** The attention weights of a layer for one sentence of the last batch: {weights: (heads, queries, keys), queries, keys}. */\n    attention(part, sentence = 0) {\n      const layer = this.layers.find((one) => one.part === part);\n      if (!layer?.weights) return void 0;\n      const [, queries, , keys, from] = this.i.subarray(layer.spans / 4 + 6 * sentence, layer.spans / 4 + 6 * sentence + 5);\n      const wide = keys + 3 & ~3;\n      const weights = new Float32Array(this.heads * queries * keys);\n      for (let r = 0; r < this.heads * queries; r += 1) weights.set(this.f.subarray(layer.weights / 4 + from + r * wide, layer.weights / 4 + from + r * wide + keys), r * keys);\n      return { weights, queries, keys };\n    }\n    // ---- forwards ----\n    span(spans, r, q, queries, k, keys, weights) {\n      const { i } = this;\n      const to = spans / 4 + 6 * r;\n      i[to] = q;\n      i[to + 1] = queries;\n      i[to + 2] = k;\n      i[to + 3] = keys;\n      i[to + 4] = weights;\n      i[to + 5] = 0;\n    }\n    copy(from, to, n) {\n      this.f.copyWithin(to / 4, from / 4, from / 4 + n);\n    }\n    clear(at, n) {\n      this.f.fill(0, at / 4, at / 4 + n);\n    }\n    product(a, b, c, m, n, k, bias, relu, more) {\n      this.operations += 2 * m * n * k;\n      this.k.product(a, k, b, n, c, n, m, n, k, bias, relu, more, this.tiles);\n    }\n    linear({ w, b }, x, y, rows, relu, more) {\n      this.product(x, w.turned, y, rows, w.shape[0], w.shape[1], b.used, relu, more);\n    }\n    normed(layer, rows) {\n      this.k.norm(layer.x, layer.norm.w.used, layer.norm.b.used, layer.h, layer.stats, rows, this.d);\n    }\n    /** A sublayer in its residual connection, from `layer.x` to `layer.next`. */\n    sublayer(layer, rows) {\n      const { d, k, heads, batch } = this;\n      this.normed(layer, rows);\n      this.copy(layer.x, layer.next, rows * d);\n      if (layer.kind === "feed_forward") {\n        this.linear(layer.up, layer.h, layer.made, rows, true, false);\n        this.linear(layer.down, layer.made, layer.next, rows, false, true);\n      } else if (layer.kind === "attention") {\n        this.linear(layer.qkv, layer.h, layer.made, rows, false, false);\n        k.attend(layer.spans, batch.sentences, layer.made, 3 * d, layer.made + 4 * d, layer.made + 8 * d, 3 * d, layer.o, layer.weights, d, heads, layer.causal);\n        this.linear(layer.out, layer.o, layer.next, rows, false, true);\n      } else this.other(layer, rows);\n    }\n    // ---- backwards ----\n    /** The gradient of a linear map in its numbers, where they move, and (where `dx` is an address) in its input. */\n    linearBack({ w, b }, x, dy, dx, rows, more) {\n      const [outputs, inputs] = w.shape;\n      if (w.moves) {\n        this.operations += 2 * rows * outputs * inputs;\n        this.k.outer(dy, outputs, x, inputs, w.grad, inputs, outputs, inputs, rows);\n      }\n      if (b.moves) this.k.columns(dy, b.grad, rows, outputs);\n      if (dx) this.product(dy, w.used, dx, rows, inputs, outputs, 0, false, more);\n    }\n    /** Through a norm: into `dx`, which is added to, and the norm\'s own numbers. */\n    normBack(layer, dh, dx, rows) {\n      const { w, b } = layer.norm;\n      this.k.normBack(dh, layer.x, w.used, layer.stats, dx, w.moves ? w.grad : 0, b.moves ? b.grad : 0, rows, this.d);\n    }\n    /** From the gradient `dx` of what leaves a sublayer to that of what enters it, in place. */\n    sublayerBack(layer, dx, rows) {\n      const { d, k, heads, batch, back } = this;\n      if (!layer.moves && !layer.below && layer.kind !== "cross") return;\n      const inward = layer.below || layer.norm.w.moves;\n      if (layer.kind === "feed_forward") {\n        this.linearBack(layer.down, layer.made, dx, back.wide, rows, false);\n        k.reluBack(back.wide, layer.made, rows * this.ff);\n        this.linearBack(layer.up, layer.h, back.wide, inward ? back.h : 0, rows, false);\n      } else if (layer.kind === "attention") {\n        this.linearBack(layer.out, layer.o, dx, back.o, rows, false);\n        this.clear(back.wide, rows * 3 * d);\n        k.attendBack(layer.spans, batch.sentences, layer.made, back.wide, 3 * d, layer.made + 4 * d, layer.made + 8 * d, back.wide + 4 * d, back.wide + 8 * d, 3 * d, back.o, layer.weights, this.row, d, heads, layer.causal);\n        this.linearBack(layer.qkv, layer.h, back.wide, inward ? back.h : 0, rows, false);\n      } else this.otherBack(layer, dx, rows, inward);\n      if (inward) this.normBack(layer, back.h, dx, rows);\n    }\n    /** Zeros where gradients are added up. */\n    clearGradients() {\n      this.clear(this.grads, this.moving);\n      this.f.fill(0, this.masked[0] / 4, this.masked[1] / 4);\n    }\n    /** The gradients of scores, from those of the weights that they choose among. */\n    scoreGradients() {\n      for (let t = 0; t < this.masks.length; t += 1) this.k.scoreBack(this.masks[t].grad, this.masks[t].weight, this.masks[t].scores, this.masks[t].scoreGrad, this.masks[t].n);\n    }\n    /** One step of AdamW on the loaded batch; returns the loss per answer, which is not finite if no step could be made. */\n    train() {\n      const { settings, k } = this;\n      this.operations = 0;\n      this.forward();\n      const loss = this.losses[0] / this.asked;\n      this.backward();\n      const size = Math.sqrt(k.squares(this.grads, this.moving));\n      if (!Number.isFinite(loss) || !Number.isFinite(size)) return NaN;\n      this.step += 1;\n      k.adam(this.values, this.grads, this.first, this.second, this.moving, this.rate(this.step), settings.decay ?? 0, BETA1, BETA2, EPSILON, 1 - BETA1 ** this.step, 1 - BETA2 ** this.step, Math.min(1, CLIP / (size + 1e-6)));\n      this.apply(this.masks, this.turning);\n      return loss;\n    }\n  };\n\n  // reservoir_book/explorables/playground/settings.mjs\n  var HEADS = 4;\n  var headsOf = ({ task }) => task ? 2 : HEADS;\n  var RANGES = { width: [32, 48, 64, 96], encoder: [1, 2, 3], decoder: [1, 2, 3], steps: [50, 100, 200, 300, 500, 1e3], keep: [0.1, 0.9], rate: [1e-4, 1e3], seed: [0, 2 ** 32 - 1] };\n  var TAGGER = { width: [16, 32, 64], layers: [1, 2, 3, 4, 5, 6], steps: [100, 200, 500, 800, 1e3, 1500, 2e3, 3e3], keep: RANGES.keep, rate: RANGES.rate, seed: RANGES.seed };\n  var LETTERS = { t: "trained", s: "seeded", m: "masked", f: "fixed", n: "none" };\n  var START = 0.3;\n  function partsOf({ task, layers, encoder, decoder }) {\n    if (task) {\n      const inner = ["attention", "feed_forward", "norms"];\n      const of = (layer) => inner.map((kind) => ({ name: `encoder.${layer}.${kind}`, kind, side: "encoder", layer, letters: kind === "norms" ? "tf" : "tsmn" }));\n      return [{ name: "embedding", kind: "embedding", letters: "tsm" }, ...Array.from({ length: layers }, (_, layer) => of(layer)).flat(), { name: "norm", kind: "norm", letters: "tf" }, { name: "readout", kind: "readout", letters: "ts" }];\n    }\n    const found = [{ name: "embedding", kind: "embedding", letters: "tsm" }];\n    for (const [side, depth] of [["encoder", encoder], ["decoder", decoder]]) {\n      for (let layer = 0; layer < depth; layer += 1) {\n        const kinds = side === "encoder" ? ["attention", "feed_forward", "norms"] : ["attention", "cross", "feed_forward", "norms"];\n        for (const kind of kinds) found.push({ name: `${side}.${layer}.${kind}`, kind, side, layer, letters: kind === "norms" ? "tf" : kind === "attention" && side === "encoder" ? "tsmf" : "tsm" });\n      }\n      found.push({ name: `${side}.norm`, kind: "norm", side, letters: "tf" });\n    }\n    return found;\n  }\n  var lettersOf = (settings) => new Map(partsOf(settings).map(({ name }, i) => [name, settings.parts[i] ?? "t"]));\n  function tensorsOf(settings, vocabulary) {\n    const { task, width: d } = settings;\n    const letters = lettersOf(settings);\n    const found = [];\n    const add = (part, stream, shape, kind, blocks, more) => {\n      const letter = letters.get(part);\n      const weight = kind === "table" || kind === "matrix";\n      const bias = kind === "bias" && task && letter === "m" ? "trained" : "fixed";\n      found.push({ stream, shape, kind, part, blocks, signs: Boolean(task) && letter === "m", origin: letter === "t" ? "trained" : weight ? LETTERS[letter] : bias, ...more });\n    };\n    const linear = (part, stream, rows, columns, blocks) => {\n      add(part, stream, [rows, columns], "matrix", blocks);\n      add(part, `${stream}.bias`, [rows], "bias");\n    };\n    const norm = (part, stream) => {\n      add(part, stream, [d], "gain");\n      add(part, `${stream}.bias`, [d], "shift");\n    };\n    if (task) {\n      add("embedding", "embedding", [task.vocabulary + 1, d], "table", void 0, { std: START, padded: true, looked: true });\n      add("embedding", "positions", [task.length, d], "table", void 0, { std: START, looked: true });\n      for (let layer = 0; layer < settings.layers; layer += 1) {\n        const at = `encoder.${layer}`;\n        if (letters.get(`${at}.attention`) !== "n") {\n          norm(`${at}.norms`, `${at}.mixing.norm`);\n          linear(`${at}.attention`, `${at}.attention.qkv`, 3 * d, d, 3);\n          linear(`${at}.attention`, `${at}.attention.out`, d, d);\n        }\n        if (letters.get(`${at}.feed_forward`) !== "n") {\n          norm(`${at}.norms`, `${at}.feed_forward.norm`);\n          linear(`${at}.feed_forward`, `${at}.feed_forward.up`, 4 * d, d);\n          linear(`${at}.feed_forward`, `${at}.feed_forward.down`, d, 4 * d);\n        }\n      }\n      norm("norm", "norm");\n      add("readout", "readout", [task.questions * task.answers, d], "matrix", void 0, { spread: { groups: task.questions, wide: Math.ceil(task.answers / 8) * 8 } });\n      return found;\n    }\n    add("embedding", "embedding", [vocabulary, d], "table", void 0, { padded: true });\n    for (const { name, kind, side } of partsOf(settings)) {\n      const under = name.replace(/\\.\\w+$/, "");\n      if (kind === "attention" && letters.get(name) !== "f") {\n        linear(name, `${name}.qkv`, 3 * d, d, 3);\n        linear(name, `${name}.out`, d, d);\n      }\n      if (kind === "cross") {\n        linear(name, `${name}.query`, d, d, 1);\n        linear(name, `${name}.kv`, 2 * d, d, 2);\n        linear(name, `${name}.out`, d, d);\n      }\n      if (kind === "feed_forward") {\n        linear(name, `${name}.up`, 2 * d, d);\n        linear(name, `${name}.down`, d, 2 * d);\n      }\n      if (kind === "norms") for (const of of side === "encoder" ? ["mixing", "feed_forward"] : ["mixing", "cross", "feed_forward"]) norm(name, `${under}.${of}.norm`);\n      if (kind === "norm") norm(name, name);\n    }\n    return found;\n  }\n\n  // reservoir_book/explorables/playground/tagger.mjs\n  var FALL = 0.3;\n  var up = (n, to) => Math.ceil(n / to) * to;\n  function trapezoid(step, { rate, steps, task: { warmup } }) {\n    const rise = Math.max(1, warmup);\n    if (step < rise) return rate * step / rise;\n    const fall = Math.max(1, Math.round(FALL * steps));\n    return rate * Math.min(1, (steps + 1 - step) / (fall + 1));\n  }\n  var Tagger = class extends Engine {\n    /**\n     * @param {WebAssembly.Module|Bench} place as Engine has it\n     * @param {object} settings as settings.mjs says: the task, and the letters of parts, among them\n     */\n    constructor(place, settings) {\n      const { task, width } = settings;\n      super(place, settings, tensorsOf(settings), { heads: headsOf(settings), wide: 4 * width, tokens: task.batch * task.length, longest: up(task.length, 4) });\n    }\n    rate(step) {\n      return trapezoid(step, this.settings);\n    }\n    lay(rows, room) {\n      const { settings, settings: { task }, d, named } = this;\n      this.wide = up(task.answers, 8);\n      this.batch = { ids: rows(1), at: rows(1), y: rows(task.questions), best: rows(task.questions), spans: rows(6), sentences: 0 };\n      const letters = lettersOf(settings);\n      const subs = Array.from({ length: settings.layers }, (_, i) => ["attention", "feed_forward"].map((kind) => {\n        const part = `encoder.${i}.${kind}`;\n        return { kind, part, causal: task.causal, spans: this.batch.spans, norm: `encoder.${i}.${kind === "attention" ? "mixing" : kind}.norm` };\n      })).flat().filter(({ part }) => letters.get(part) !== "n");\n      const all = this.stack(subs, "norm", rows);\n      Object.assign(this, { layers: all.layers, top: all.top, bottom: all.bottom });\n      this.apart = this.layers.findLastIndex(({ kind }) => kind === "attention") + 1;\n      if (task.places < task.length) {\n        this.full = rows(d);\n        if (this.apart) this.layers[this.apart - 1].next = this.full;\n        else this.bottom = this.full;\n      }\n      this.looked = { ids: named.get("embedding"), at: named.get("positions") };\n      let below = this.looked.ids.moves;\n      for (const layer of this.layers) {\n        layer.below = below;\n        below ||= layer.moves;\n      }\n      this.top.below = below;\n      this.readout = { w: named.get("readout"), groups: task.questions * this.wide };\n      this.logits = rows(this.readout.groups);\n      this.back = { x: rows(d), full: rows(d), h: rows(d), o: rows(d), wide: rows(4 * d) };\n    }\n    /** Lay out sequences number `from` to `to` of {x: (n, length) ids, y: (n, places, questions) answers, or -1}. */\n    load({ x, y }, from, to) {\n      const { batch, i, settings: { task: { length, places, questions } } } = this;\n      const n = to - from;\n      if (n * length > this.tokens) throw new RangeError(`a batch must have at most ${Math.floor(this.tokens / length)} sequences, got ${n}`);\n      i.set(x.subarray(from * length, to * length), batch.ids / 4);\n      i.set(y.subarray(from * places * questions, to * places * questions), batch.y / 4);\n      const row = this.heads * length * up(length, 4);\n      for (let s = 0; s < n; s += 1) {\n        this.span(batch.spans, s, s * length, length, s * length, length, s * row);\n        for (let p = 0; p < length; p += 1) i[batch.at / 4 + s * length + p] = p;\n      }\n      batch.sentences = n;\n      this.asked = 0;\n      for (let a = from * places * questions; a < to * places * questions; a += 1) this.asked += y[a] >= 0;\n    }\n    /** The last places of each sequence, from all rows to their own; or back, the others zero. */\n    narrow(from, to) {\n      const { d, f, batch: { sentences: sentences2 }, settings: { task: { length, places } } } = this;\n      for (let s = 0; s < sentences2; s += 1) {\n        const at = from / 4 + (s * length + length - places) * d;\n        f.copyWithin(to / 4 + s * places * d, at, at + places * d);\n      }\n    }\n    widen(from, to) {\n      const { d, f, batch: { sentences: sentences2 }, settings: { task: { length, places } } } = this;\n      this.clear(to, sentences2 * length * d);\n      for (let s = 0; s < sentences2; s += 1) f.copyWithin(to / 4 + (s * length + length - places) * d, from / 4 + s * places * d, from / 4 + (s + 1) * places * d);\n    }\n    get rows() {\n      return this.batch.sentences * this.settings.task.length;\n    }\n    get alone() {\n      return this.batch.sentences * this.settings.task.places;\n    }\n    predict() {\n      const { batch, layers, top, d, k, looked, apart, full, readout, rows, alone } = this;\n      k.embed(batch.ids, batch.at, looked.ids.used, looked.at.used, this.bottom, rows, d, 1);\n      for (let l = 0; l < apart; l += 1) this.sublayer(layers[l], rows);\n      if (full) this.narrow(full, (layers[apart] ?? top).x);\n      for (let l = apart; l < layers.length; l += 1) this.sublayer(layers[l], alone);\n      this.normed(top, alone);\n      this.product(top.h, readout.w.turned, this.logits, alone, readout.groups, d, 0, false, false);\n      this.operations += 4 * this.layers.filter(({ kind }) => kind === "attention").length * rows * this.settings.task.length * d;\n    }\n    /** The loss of the loaded batch in `losses`, summed over its answers, in nats; its gradient in the logits\' place; returns how many answers are right. */\n    forward() {\n      this.predict();\n      const { batch, settings: { task } } = this;\n      return this.k.answer(this.logits, batch.y, this.sums, this.alone * task.questions, this.wide, task.answers, 1 / this.asked);\n    }\n    /** Answers to the loaded batch, as its `y`. */\n    answers() {\n      this.predict();\n      const { batch, i, settings: { task } } = this;\n      const n = this.alone * task.questions;\n      this.k.best(this.logits, batch.best, n, this.wide, task.answers);\n      return i.slice(batch.best / 4, batch.best / 4 + n);\n    }\n    backward() {\n      const { batch, layers, top, d, k, looked, apart, full, readout, rows, alone, back } = this;\n      this.clearGradients();\n      const { w, groups } = readout;\n      if (w.moves) {\n        this.operations += 2 * alone * groups * d;\n        k.outer(this.logits, groups, top.h, d, w.grad, d, groups, d, alone);\n      }\n      if (!top.below && !top.norm.w.moves) return;\n      this.product(this.logits, w.used, back.h, alone, d, groups, 0, false, false);\n      let dx = back.x;\n      this.clear(dx, alone * d);\n      this.normBack(top, back.h, dx, alone);\n      for (let l = layers.length - 1; l >= apart; l -= 1) this.sublayerBack(layers[l], dx, alone);\n      if (!layers.slice(0, apart).some(({ moves }) => moves) && !looked.ids.moves) {\n        this.scoreGradients();\n        return;\n      }\n      if (full) {\n        this.widen(dx, back.full);\n        dx = back.full;\n      }\n      for (let l = apart - 1; l >= 0; l -= 1) this.sublayerBack(layers[l], dx, rows);\n      this.operations += 8 * layers.filter(({ kind }) => kind === "attention").length * rows * this.settings.task.length * d;\n      if (looked.ids.moves) {\n        k.embedBack(batch.ids, dx, looked.ids.grad, rows, d, 1);\n        this.clear(looked.ids.grad, d);\n        k.embedBack(batch.at, dx, looked.at.grad, rows, d, 1);\n      }\n      this.scoreGradients();\n    }\n  };\n\n  // reservoir_book/explorables/playground/grammar.mjs\n  var [N, M] = [624, 397];\n  function uniform2(seed) {\n    const state = new Uint32Array(N);\n    state[0] = 19650218;\n    for (let i2 = 1; i2 < N; i2 += 1) state[i2] = Math.imul(1812433253, state[i2 - 1] ^ state[i2 - 1] >>> 30) + i2;\n    let i = 1;\n    const next = () => {\n      i += 1;\n      if (i >= N) {\n        state[0] = state[N - 1];\n        i = 1;\n      }\n    };\n    for (let k = N; k; k -= 1) {\n      state[i] = (state[i] ^ Math.imul(state[i - 1] ^ state[i - 1] >>> 30, 1664525)) + seed;\n      next();\n    }\n    for (let k = N - 1; k; k -= 1) {\n      state[i] = (state[i] ^ Math.imul(state[i - 1] ^ state[i - 1] >>> 30, 1566083941)) - i;\n      next();\n    }\n    state[0] = 2147483648;\n    let at = N;\n    const word = () => {\n      if (at === N) {\n        for (let k = 0; k < N; k += 1) {\n          const y2 = state[k] & 2147483648 | state[(k + 1) % N] & 2147483647;\n          state[k] = state[(k + M) % N] ^ y2 >>> 1 ^ (y2 & 1 ? 2567483615 : 0);\n        }\n        at = 0;\n      }\n      let y = state[at];\n      at += 1;\n      y ^= y >>> 11;\n      y ^= y << 7 & 2636928640;\n      y ^= y << 15 & 4022730752;\n      return (y ^ y >>> 18) >>> 0;\n    };\n    return () => {\n      const [a, b] = [word() >>> 5, word() >>> 6];\n      return (a * 67108864 + b) / 9007199254740992;\n    };\n  }\n  var NUMBERS = ["m", "f", "n", "pl"];\n  var CASES = ["nom", "acc", "dat"];\n  var words = (text) => text.split(" ");\n  var DER = [["der", "die", "das", "die"], ["den", "die", "das", "die"], ["dem", "der", "dem", "den"]];\n  var DIES = [["er", "e", "es", "e"], ["en", "e", "es", "e"], ["em", "er", "em", "en"]];\n  var EIN = [["", "e", "", "e"], ["en", "e", "", "e"], ["em", "er", "em", "en"]];\n  var WEAK = [["e", "e", "e", "en"], ["en", "e", "e", "en"], ["en", "en", "en", "en"]];\n  var MIXED = [["er", "e", "es", "en"], ["en", "e", "es", "en"], ["en", "en", "en", "en"]];\n  var STRONG = ["e", "e", "en"];\n  var NounPhrase = class {\n    constructor(noun, determiner, plural, adjective) {\n      Object.assign(this, { noun, determiner, plural, adjective, definite: determiner !== "ein" });\n    }\n    german(name) {\n      const { noun, determiner, plural, adjective } = this;\n      const of = CASES.indexOf(name);\n      const column = NUMBERS.indexOf(plural ? "pl" : noun.gender);\n      const found = [];\n      if (determiner === "der") found.push(DER[of][column]);\n      else if (determiner === "dieser") found.push(`dies${DIES[of][column]}`);\n      else if (determiner === "mein") found.push(`mein${EIN[of][column]}`);\n      else if (!plural) found.push(`ein${EIN[of][column]}`);\n      if (adjective) found.push(adjective[0] + (determiner === "ein" && plural ? STRONG[of] : (["ein", "mein"].includes(determiner) ? MIXED : WEAK)[of][column]));\n      found.push(plural ? name === "dat" ? noun.dative_plural : noun.plural : name === "nom" ? noun.singular : noun.oblique);\n      return found;\n    }\n    english() {\n      const { noun, determiner, plural, adjective } = this;\n      const found = [...adjective ? [adjective[1]] : [], plural ? noun.en_plural : noun.en];\n      if (determiner !== "ein") return [{ der: "the", mein: "my", dieser: plural ? "these" : "this" }[determiner], ...found];\n      return plural ? found : ["aeiou".includes(found[0][0]) ? "an" : "a", ...found];\n    }\n  };\n  var Pronoun = class {\n    constructor(name, forms) {\n      Object.assign(this, { name, forms, plural: forms[5], definite: true });\n    }\n    german(name) {\n      return [this.forms[CASES.indexOf(name)]];\n    }\n    english(name) {\n      return [this.forms[name === "nom" ? 3 : 4]];\n    }\n  };\n  var Clause = class {\n    constructor(said, lexicon) {\n      Object.assign(this, said, { lexicon });\n    }\n    statement(front) {\n      const [finite, rest] = this.#verbs();\n      return [...this.#part(front), finite, ...this.#middle(front), ...rest];\n    }\n    question() {\n      const [finite, rest] = this.#verbs();\n      return [finite, ...this.#middle(), ...rest];\n    }\n    subordinate() {\n      return [...this.#middle(), ...this.#verbs()[2]];\n    }\n    /** The finite verb, what ends the clause with it, and the cluster that ends a subordinate clause. */\n    #verbs() {\n      const { verb, modal, perfect, lexicon } = this;\n      const { plural } = this.subject;\n      const both = (finite, last) => [finite, [last], [last, finite]];\n      if (modal) return both(lexicon.modals[modal][Number(plural)], verb.prefix + verb.plural);\n      if (perfect) return both(plural ? "haben" : "hat", verb.participle);\n      const form = plural ? verb.plural : verb.third;\n      return [form, verb.prefix ? [verb.prefix] : [], [verb.prefix + form]];\n    }\n    #part(name) {\n      const part = this[name];\n      if (!part) return [];\n      if (name === "time") return [part];\n      if (name === "place") return part[0];\n      return part.german({ subject: "nom", accusative: "acc", dative: "dat" }[name]);\n    }\n    /** Between the verbs: pronouns first, known before new, time before place, "nicht" before "mit". */\n    #middle(front) {\n      const pronouns = ["accusative", "dative"].filter((name) => this[name] instanceof Pronoun);\n      const fresh = this.place && this.accusative && !this.accusative.definite;\n      const order = ["subject", ...pronouns, "dative", ...fresh ? ["place", "accusative"] : ["accusative", "place"]];\n      order.splice(this.negated ? order.length : 1 + pronouns.length, 0, "time");\n      const found = [...new Set(order)].filter((name) => name !== front).flatMap((name) => this.#part(name));\n      if (this.negated) found.push("nicht");\n      if (this.companion) found.push("mit", ...this.companion.german("dat"));\n      return found;\n    }\n    english(front, question = false) {\n      const { verb, place, time } = this;\n      const [helper, main] = this.#englishVerbs(question);\n      const subject = this.subject.english("nom");\n      const often = time === "oft" && front !== "time" ? ["often"] : [];\n      const found = question ? [...helper, ...subject, ...often, ...main] : [...subject, ...helper, ...often, ...main];\n      const some = (text) => text ? words(text) : [];\n      if (this.dative) found.push(...this.dative.english("dat"));\n      if (this.accusative) found.push(...some(verb.en_preposition), ...this.accusative.english("acc"));\n      found.push(...some(verb.en_particle));\n      if (this.companion) found.push("with", ...this.companion.english("dat"));\n      const where = place ? words(place[1]) : [];\n      const when = time && !often.length ? [this.lexicon.times[time]] : [];\n      if (front === "place") return [...where, ...found, ...when];\n      if (front === "time") return [...when, ...found, ...where];\n      return [...found, ...where, ...when];\n    }\n    /** What changes place with the subject in a question, and the verb proper. */\n    #englishVerbs(question) {\n      const { verb, negated, perfect, modal } = this;\n      const { plural } = this.subject;\n      let bare = [verb.en];\n      if (modal) {\n        const [, , one, many2, withDo] = this.lexicon.modals[modal];\n        const form = plural ? many2 : one;\n        if (!withDo) return [[negated ? "cannot" : form], [verb.en]];\n        if (!(negated || question)) return [[], [...words(form), verb.en]];\n        bare = [...words(withDo), verb.en];\n      } else if (!(negated || question)) return [[], [perfect ? verb.en_past : plural ? verb.en : verb.en_third]];\n      const helper = perfect ? "did" : plural ? "do" : "does";\n      return [negated ? [helper, "not"] : [helper], bare];\n    }\n  };\n  function* sentences(seed, lexicon) {\n    const random = uniform2(seed);\n    const below = (n) => Math.floor(random() * n);\n    const chance = (p) => random() < p;\n    const pick = (options) => options[below(options.length)];\n    const known = /* @__PURE__ */ new Map();\n    const fitting = (groups) => {\n      const names = new Set(words(groups));\n      if (!known.has(groups)) known.set(groups, lexicon.nouns.filter(({ group, singular }) => names.has(group) || names.has(singular)));\n      return known.get(groups);\n    };\n    const pronoun = (name) => new Pronoun(name, lexicon.pronouns[name]);\n    const has = (groups) => groups.includes("adult");\n    function nounPhrase(groups, taken) {\n      const used = taken.map(({ noun: noun2 }) => noun2);\n      const noun = pick(fitting(groups).filter((one) => !used.includes(one)));\n      const determiner = pick(["der", "der", "ein", "dieser", noun.mine ? "mein" : "der"]);\n      const adjective = chance(0.35) ? pick(lexicon.adjectives[noun.group]) : void 0;\n      const phrase = new NounPhrase(noun, determiner, chance(0.3), adjective);\n      taken.push(phrase);\n      return phrase;\n    }\n    const actor = (groups) => has(groups) && chance(0.25) ? pronoun(pick(["er", "sie", "wir", "sie alle"])) : nounPhrase(groups, []);\n    function undergoer(groups, taken, name) {\n      if (!has(groups) || !chance(0.25)) return nounPhrase(groups, taken);\n      let names = Object.keys(lexicon.pronouns).filter((one) => lexicon.pronouns[one][CASES.indexOf(name)]);\n      if (taken.some((part) => part.name === "wir")) names = names.filter((one) => !["ich", "wir"].includes(one));\n      return pronoun(pick(names));\n    }\n    function clause({ tense, timed = true, negatable = true } = {}) {\n      const verb = pick(lexicon.verbs);\n      const subject = actor(verb.subjects);\n      const taken = [subject];\n      const dative = verb.dative ? undergoer(verb.dative, taken, "dat") : void 0;\n      const accusative = verb.accusative ? undergoer(verb.accusative, taken, "acc") : void 0;\n      const companion = verb.companion && chance(0.7) ? nounPhrase(verb.companion, taken) : void 0;\n      const perfect = tense === void 0 ? chance(0.25) : tense;\n      const modal = !perfect && chance(0.4) ? pick(["können", "müssen", "wollen", "dürfen"]) : void 0;\n      const definite = [dative, accusative].every((part) => !part || part.definite);\n      const negated = negatable && definite && !["müssen", "dürfen"].includes(modal) && chance(0.2);\n      const place = verb.place && !negated && chance(0.3) ? pick(lexicon.places) : void 0;\n      const time = timed && chance(0.35) ? pick(["heute", perfect ? "gestern" : "jetzt", ...modal || negated ? [] : ["oft"]]) : void 0;\n      return new Clause({ subject, verb, accusative, dative, companion, modal, perfect, negated, time, place }, lexicon);\n    }\n    function front(said) {\n      const options = ["time", "place"].filter((name) => said[name]);\n      for (const [name, genders] of [["accusative", "m"], ["dative", "mfn"]]) {\n        const part = said[name];\n        if (part instanceof NounPhrase && part.definite && !said.negated && (genders.includes(part.noun.gender) && !part.plural || part.plural && name === "dative")) options.push(name);\n      }\n      return options.length && chance(0.5) ? pick(options) : "subject";\n    }\n    const text = (parts) => parts.map((word) => ",.?".includes(word) ? word : ` ${word}`).join("").slice(1);\n    const finish = (german, english, stop) => [german, english].map(([first, ...rest]) => text([first[0].toUpperCase() + first.slice(1), ...rest, stop]));\n    function report() {\n      const [third, many2, en, enThird] = pick(lexicon.reporting);\n      const subject = actor("adult sibling child");\n      const negated = chance(0.15);\n      const { plural } = subject;\n      const said = clause();\n      const knows = negated ? [plural ? "do" : "does", "not", en] : [plural ? en : enThird];\n      return finish([...subject.german("nom"), plural ? many2 : third, ...negated ? ["nicht"] : [], ",", "dass", ...said.subordinate()], [...subject.english("nom"), ...knows, "that", ...said.english()], ".");\n    }\n    function reason() {\n      const main = clause();\n      const why = clause({ tense: main.perfect, timed: main.time === void 0 });\n      if (chance(0.35)) return finish(["weil", ...why.subordinate(), ",", ...main.question()], ["because", ...why.english(), ",", ...main.english()], ".");\n      const first = front(main);\n      return finish([...main.statement(first), ",", "weil", ...why.subordinate()], [...main.english(first), "because", ...why.english()], ".");\n    }\n    function sentence() {\n      const kind = below(100);\n      if (kind < 42) {\n        const said = clause();\n        const first = front(said);\n        return finish(said.statement(first), said.english(first), ".");\n      }\n      if (kind < 54) {\n        const said = clause({ negatable: false });\n        return finish(said.question(), said.english(void 0, true), "?");\n      }\n      return kind < 77 ? report() : reason();\n    }\n    const seen = /* @__PURE__ */ new Set();\n    for (; ; ) {\n      const pair = sentence();\n      if (pair.some((one) => seen.has(one))) continue;\n      for (const one of pair) seen.add(one);\n      yield pair;\n    }\n  }\n\n  // reservoir_book/explorables/playground/order.mjs\n  var MASK = (1n << 128n) - 1n;\n  var MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;\n  function words2(seed, number) {\n    const low = (value) => Number(BigInt(value) & 0xffffffffn);\n    const entropy = [seed, number].flatMap((value) => {\n      const found = [];\n      for (let rest = BigInt(value); found.length === 0 || rest; rest >>= 32n) found.push(low(rest));\n      return found;\n    });\n    let constant = 1135663077;\n    const hash = (given) => {\n      let value = given ^ constant;\n      constant = Math.imul(constant, 2468251765);\n      value = Math.imul(value, constant);\n      return value ^ value >>> 16;\n    };\n    const mixed = (x, y) => {\n      const found = Math.imul(3389127133, x) - Math.imul(1232336661, y);\n      return found ^ found >>> 16;\n    };\n    const pool = [0, 1, 2, 3].map((i) => hash(entropy[i] ?? 0));\n    for (let from = 0; from < 4; from += 1) for (let to = 0; to < 4; to += 1) if (from !== to) pool[to] = mixed(pool[to], hash(pool[from]));\n    for (const word of entropy.slice(4)) for (let to = 0; to < 4; to += 1) pool[to] = mixed(pool[to], hash(word));\n    constant = 2337405405;\n    const state = Array.from({ length: 8 }, (_, i) => {\n      let value = pool[i % 4] ^ constant;\n      constant = Math.imul(constant, 1492356589);\n      value = Math.imul(value, constant);\n      return BigInt((value ^ value >>> 16) >>> 0);\n    });\n    const wide = (i) => state[i] | state[i + 1] << 32n;\n    const [begin, stream] = [wide(0) << 64n | wide(2), wide(4) << 64n | wide(6)];\n    const step = (stream << 1n | 1n) & MASK;\n    let at = step + begin & MASK;\n    at = at * MULTIPLIER + step & MASK;\n    return () => {\n      at = at * MULTIPLIER + step & MASK;\n      const value = at >> 64n ^ at & 0xffffffffffffffffn;\n      const turn = at >> 122n;\n      return (value >> turn | value << 64n - turn) & 0xffffffffffffffffn;\n    };\n  }\n  var ranked = (drawn2) => drawn2.map((_, i) => i).sort((a, b) => drawn2[a] < drawn2[b] ? -1 : drawn2[a] > drawn2[b] ? 1 : a - b);\n\n  // reservoir_book/explorables/playground/tasks.mjs\n  var [TABLE, HIDDEN, LOOK] = [10 ** 9, 10 ** 9 + 2, 10 ** 9 + 3];\n  var [VALID, TEST] = [1, 2];\n  var TRAIN = 100;\n  var modulo = (word, n) => Number(word % BigInt(n));\n  var take = (word, n) => Array.from({ length: n }, word);\n  var PUZZLES = {\n    Circle: ({ length: n, hops }) => ({\n      draw(many2, seed, number) {\n        const word = words2(seed, number);\n        const x = new Int32Array(many2 * n);\n        const y = new Int32Array(many2 * n * hops.length);\n        const all = take(word, many2 * n);\n        const at = new Int32Array(n);\n        for (let s = 0; s < many2; s += 1) {\n          const ring = ranked(all.slice(s * n, (s + 1) * n));\n          ring.forEach((child, place) => {\n            at[child] = place;\n          });\n          for (let p = 0; p < n; p += 1) {\n            x[s * n + p] = ring[(at[p] + 1) % n] + 1;\n            hops.forEach((hop, q) => {\n              y[(s * n + p) * hops.length + q] = ring[(at[p] + hop) % n];\n            });\n          }\n        }\n        return { x, y };\n      }\n    }),\n    Brackets: ({ length, kinds }) => ({\n      draw(many2, seed, number) {\n        const word = words2(seed, number);\n        const kind = take(word, many2 * length).map((one) => modulo(one, kinds));\n        const heads = take(word, many2 * length).map((one) => one >> 63n);\n        const x = new Int32Array(many2 * length);\n        const y = new Int32Array(many2 * length).fill(-1);\n        for (let s = 0; s < many2; s += 1) {\n          const open = [];\n          for (let t = s * length; t < (s + 1) * length; t += 1) {\n            if (!open.length || heads[t]) {\n              open.push(kind[t]);\n              x[t] = kind[t] + 1;\n            } else {\n              open.pop();\n              x[t] = kinds + 1;\n              y[t] = open.at(-1) ?? kinds;\n            }\n          }\n        }\n        return { x, y };\n      }\n    }),\n    Facts: ({ subjects, relations, values }, seedOfRun) => {\n      const facts = subjects * relations;\n      const word = words2(seedOfRun, TABLE);\n      const table = take(word, facts).map((one) => modulo(one, values));\n      const asked = (which) => ({\n        x: Int32Array.from(which.flatMap((fact) => [Math.floor(fact / relations) + 1, subjects + fact % relations + 1])),\n        y: Int32Array.from(which, (fact) => table[fact])\n      });\n      return {\n        draw: (many2, seed, number) => asked(take(words2(seed, number), many2).map((one) => modulo(one, facts))),\n        valid: (many2) => asked(ranked(take(words2(seedOfRun, LOOK), facts)).slice(0, many2)),\n        test: () => asked(Array.from({ length: facts }, (_, i) => i))\n      };\n    },\n    Grammar: ({ longest, sentences: learned, held_out: held, hidden, words: { german, english } }, seedOfRun, lexicon) => {\n      const stream = sentences(seedOfRun, lexicon);\n      const some = (n) => take(() => stream.next().value, n);\n      const test = some(held);\n      some(1);\n      const [of, to] = [german, english].map((list) => new Map(list.map((word, i) => [word, i])));\n      const [mark, first, length] = [1 + german.length, 2 + german.length, 2 * longest + 1];\n      const cover = first + english.length;\n      const cut = (text) => text.match(/[\\p{L}\\p{N}_]+|[^\\p{L}\\p{N}_\\s]/gu);\n      function rows(pairs, number) {\n        const kept2 = pairs.map((pair) => pair.map(cut)).filter((pair) => pair.every((one) => one.length <= longest));\n        const places = hidden ? longest : longest + 1;\n        const x = new Int32Array(kept2.length * length);\n        const y = new Int32Array(kept2.length * places).fill(-1);\n        kept2.forEach(([de, en], row) => {\n          const answers = en.map((word) => to.get(word));\n          x.set(de.map((word) => 1 + of.get(word)), row * length + longest - de.length);\n          x[row * length + longest] = mark;\n          x.set(answers.map((id) => first + id), row * length + longest + 1);\n          y.set(hidden ? answers : [...answers, english.length], row * places);\n        });\n        if (hidden) {\n          const chance = take(words2(seedOfRun, HIDDEN + number), kept2.length * longest).map((one) => Number(one) / 2 ** 64);\n          for (let row = 0; row < kept2.length; row += 1) {\n            const n = kept2[row][1].length;\n            const ours = chance.slice(row * longest, row * longest + n);\n            const least = Math.min(...ours);\n            for (let p = 0; p < n; p += 1) {\n              if (ours[p] < hidden || ours[p] === least) x[row * length + longest + 1 + p] = cover;\n              else y[row * places + p] = -1;\n            }\n          }\n        }\n        return { x, y };\n      }\n      const train2 = rows(some(learned), 0);\n      const asked = rows(test, 1);\n      return { train: train2, valid: () => asked, test: () => asked };\n    }\n  };\n  var many = ({ x }, { length }) => x.length / length;\n  function draws(task, seed, lexicon) {\n    const puzzle = PUZZLES[task.puzzle](task, seed, lexicon);\n    const asked = (drawn2, n2 = many(drawn2, task)) => ({ ...drawn2, n: n2 });\n    const some = (n2, from) => asked(puzzle.draw(n2, from, 0));\n    const valid = puzzle.valid ? asked(puzzle.valid(task.asked), task.asked) : some(task.asked, VALID);\n    const test = puzzle.test ? asked(puzzle.test()) : some(task.tested, TEST);\n    if (!puzzle.train) return { valid, test, batch: (step) => ({ ...puzzle.draw(task.batch, TRAIN + seed, step), from: 0, to: task.batch }) };\n    const n = many(puzzle.train, task);\n    const each = Math.ceil(n / task.batch);\n    let [epoch, order] = [-1];\n    return {\n      valid,\n      test,\n      batch(step) {\n        if (Math.floor(step / each) !== epoch) {\n          epoch = Math.floor(step / each);\n          order = ranked(take(words2(TRAIN + seed, epoch), n));\n        }\n        const rows = order.slice(step % each * task.batch, (step % each + 1) * task.batch);\n        const { length, places } = task;\n        const [x, y] = [new Int32Array(rows.length * length), new Int32Array(rows.length * places)];\n        rows.forEach((row, i) => {\n          x.set(puzzle.train.x.subarray(row * length, (row + 1) * length), i * length);\n          y.set(puzzle.train.y.subarray(row * places, (row + 1) * places), i * places);\n        });\n        return { x, y, from: 0, to: rows.length };\n      }\n    };\n  }\n  function share(task, { y, n }, said) {\n    const { places, questions } = task;\n    if (task.puzzle === "Grammar") {\n      let right2 = 0;\n      for (let s = 0; s < n; s += 1) {\n        let all = true;\n        for (let p = s * places; p < (s + 1) * places; p += 1) all &&= y[p] < 0 || y[p] === said[p];\n        right2 += all;\n      }\n      return 100 * right2 / n;\n    }\n    const [judged, every] = task.puzzle === "Circle" ? [questions - 1, questions] : [0, 1];\n    let [right, asked] = [0, 0];\n    for (let a = judged; a < n * places * questions; a += every) {\n      asked += y[a] >= 0;\n      right += y[a] >= 0 && y[a] === said[a];\n    }\n    return 100 * right / asked;\n  }\n\n  // reservoir_book/explorables/playground/practice.mjs\n  var SAMPLES = 4;\n  var NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";\n  var OPEN = ["(", "[", "{", "<", "«", "⟨", "⌈", "⌊"];\n  var NONE = "∅";\n  var SHOWN = {\n    Circle: ({ hops, length }) => ({\n      asked: (x, _, row) => `${tokens({ puzzle: "Circle" }, x).join(" ")}; ${hops.join(", ")} on from ${NAMES[row % length]}?`,\n      answered: (said, _, __, row) => hops.map((___, q) => NAMES[said[row % length * hops.length + q]]).join(", ")\n    }),\n    Brackets: ({ kinds }) => ({\n      asked: (x) => tokens({ puzzle: "Brackets", kinds }, x).join(" "),\n      answered: (said, y) => [...said].filter((_, p) => y[p] >= 0).map((kind) => OPEN.slice(0, kinds)[kind] ?? NONE).join(" ")\n    }),\n    Facts: ({ subjects }) => ({\n      asked: (x) => `subject ${x[0]}, relation ${x[1] - subjects}`,\n      answered: (said) => `value ${said[0] + 1}`\n    }),\n    Grammar: ({ longest, words: { german, english } }) => ({\n      asked: (x) => [...x.slice(0, longest)].filter(Boolean).map((id) => german[id - 1]).join(" "),\n      answered: (said, y) => [...said].filter((_, p) => y[p] >= 0).map((word) => english[word] ?? "⏎").join(" ").replace(/ ⏎$/, "")\n    })\n  };\n  function tokens({ puzzle, kinds, subjects, words: words3 }, x) {\n    const of = {\n      Circle: (id, p) => `${NAMES[p]}→${NAMES[id - 1]}`,\n      Brackets: (id) => id > kinds ? "×" : OPEN[id - 1],\n      Facts: (id) => id > subjects ? `relation ${id - subjects}` : `subject ${id}`,\n      Grammar: (id) => [" ", ...words3.german, "⇒", ...words3.english, "?"][id]\n    }[puzzle];\n    return Array.from(x, of);\n  }\n  var WILD = 2;\n  function note(run, loss) {\n    if (run.level === void 0) run.begun = loss;\n    run.level = run.level === void 0 ? loss : 0.9 * run.level + 0.1 * loss;\n    if (!Number.isFinite(loss)) run.stopped = run.step + 1;\n    else if (run.level > WILD * Math.max(run.guessing, run.begun)) run.stopped = run.step;\n  }\n  function corner(engine, part, skipped = 0, most = 64) {\n    const tensor = engine.tensors.find((one) => one.part === part && one.shape.length === 2) ?? engine.tensors.find((one) => one.part === part);\n    if (!tensor) return {};\n    const [rows, columns] = tensor.shape.length === 2 ? tensor.shape : [1, tensor.shape[0]];\n    const [r, c] = [Math.min(rows, most), Math.min(columns, most)];\n    const skip = tensor.kind === "table" ? skipped : 0;\n    const values = engine.read(tensor.stream);\n    const bits = tensor.masked ? engine.bits(tensor.stream) : void 0;\n    const pick = (from) => from && Float32Array.from({ length: r * c }, (_, i) => from[(Math.floor(i / c) + Math.min(skip, rows - r)) * columns + i % c]);\n    return { name: tensor.stream, origin: tensor.origin, rows: r, columns: c, of: tensor.shape, values: pick(values), bits: pick(bits) };\n  }\n  var Practice = class {\n    /**\n     * @param {WebAssembly.Module|Bench} place as Engine has it\n     * @param {object} settings with a task\n     * @param {object} lexicon the words of the grammar\n     */\n    constructor(place, settings, lexicon) {\n      Object.assign(this, { settings, task: settings.task, data: draws(settings.task, settings.seed, lexicon), engine: new Tagger(place, settings) });\n      const { test } = this.data;\n      const some = Array.from({ length: SAMPLES }, (_, i) => Math.floor(i * many(test, this.task) / SAMPLES));\n      const { length, places, questions } = this.task;\n      const rows = (of, each) => Int32Array.from(some.flatMap((row) => [...of.subarray(row * each, (row + 1) * each)]));\n      this.shown = { x: rows(test.x, length), y: rows(test.y, places * questions), n: SAMPLES };\n      this.reset();\n    }\n    reset() {\n      this.engine.reset(this.settings.seed);\n      Object.assign(this, { seconds: 0, operations: 0, level: void 0, stopped: void 0 });\n    }\n    get step() {\n      return this.engine.step;\n    }\n    get done() {\n      return this.stopped !== void 0 || this.step >= this.settings.steps;\n    }\n    /** The loss of one who finds all answers equally likely. */\n    get guessing() {\n      return Math.log(this.task.answers);\n    }\n    /** One optimiser step; the loss per answer, in nats. */\n    train(now) {\n      const begun = now();\n      const { from, to, ...drawn2 } = this.data.batch(this.step);\n      this.engine.load(drawn2, from, to);\n      const loss = this.engine.train();\n      this.seconds += (now() - begun) / 1e3;\n      this.operations = this.engine.operations;\n      note(this, loss);\n      return loss;\n    }\n    /** The model\'s answers to sequences, as their y. */\n    answers({ x, y, n }) {\n      const { engine, task: { batch, places, questions } } = this;\n      const said = new Int32Array(n * places * questions);\n      for (let from = 0; from < n; from += batch) {\n        engine.load({ x, y }, from, Math.min(n, from + batch));\n        said.set(engine.answers(), from * places * questions);\n      }\n      return said;\n    }\n    valid() {\n      return share(this.task, this.data.valid, this.answers(this.data.valid));\n    }\n    test() {\n      return share(this.task, this.data.test, this.answers(this.data.test));\n    }\n    #written(said) {\n      const { task, shown: { x, y } } = this;\n      const { asked, answered } = SHOWN[task.puzzle](task);\n      const each = task.places * task.questions;\n      return Array.from({ length: SAMPLES }, (_, row) => {\n        const [of, to] = [x.subarray(row * task.length, (row + 1) * task.length), y.subarray(row * each, (row + 1) * each)];\n        return [asked(of, to, row), answered(said.subarray(row * each, (row + 1) * each), to, of, row)];\n      });\n    }\n    /** What is shown: [question, right answer] of each. */\n    get references() {\n      return this.#written(this.shown.y);\n    }\n    /** The model\'s answers to it. */\n    samples() {\n      return this.#written(this.answers(this.shown)).map(([, answer]) => answer);\n    }\n    look(part) {\n      return corner(this.engine, part, 1);\n    }\n    /** Where a part with attention looks in the first sequence that is shown: as Training has it. */\n    attend(part) {\n      const { engine, task, shown } = this;\n      engine.load(shown, 0, 1);\n      engine.predict();\n      const found = engine.attention(part);\n      if (!found) return void 0;\n      const names = tokens(task, shown.x.subarray(0, task.length));\n      return { weights: found.weights, rows: names, columns: names };\n    }\n  };\n\n  // reservoir_book/explorables/front_table/worker.mjs\n  var OFTEN = 100;\n  function train({ kernels, settings, lexicon }, say, now = () => performance.now()) {\n    const begun = now();\n    const run = new Practice(new WebAssembly.Module(kernels), settings, lexicon);\n    const { references } = run;\n    const { steps, task: { every } } = settings;\n    let told = begun;\n    while (!run.done) {\n      const loss = run.train(now);\n      if (run.stopped !== void 0) {\n        say({ kind: "failed", step: run.stopped, loss: String(loss) });\n        return;\n      }\n      if (run.step % every === 0 || run.step === steps) say({ kind: "point", step: run.step, share: run.valid(), shown: run.samples().map((said, i) => [...references[i], said]) });\n      else if (now() - told > OFTEN) {\n        told = now();\n        say({ kind: "step", step: run.step });\n      }\n    }\n    const share2 = run.test();\n    say({ kind: "done", step: run.step, share: share2, seconds: (now() - begun) / 1e3 });\n  }\n  function serve(worker) {\n    worker.onmessage = ({ data }) => {\n      try {\n        train(data, (message) => worker.postMessage(message));\n      } catch (error) {\n        worker.postMessage({ kind: "failed", why: error.message });\n      }\n    };\n  }\n\n  // reservoir_book/explorables/front_table/worker\n  serve(self);\n})();\n';

// reservoir_book/explorables/front_table/view.mjs
var SEEDS = 2 ** 20;
var FEWEST = 1e3;
var KEPT = 4;
var whole = (share) => share >= 99.5 && share < 100 ? Math.min(share, 99.9).toFixed(1) : share.toFixed(0);
var range = (scores) => {
  const [low, high] = [Math.min(...scores), Math.max(...scores)].map(whole);
  return low === high ? low : `${low} to ${high}`;
};
var view_default = {
  render({ model, el }) {
    const ui = explorable({ model, el });
    const [parts, lexicon] = ["parts", "lexicon"].map((name) => model.get(name));
    const tasks = Object.fromEntries(model.get("tasks").map((task) => [task.name, task]));
    const why = lacking();
    const most = Math.max(1, Math.min(2, (navigator.hardwareConcurrency || 2) - 1));
    const cells = new Map(parts.flatMap(({ of, how, origin, cells: found }) => Object.entries(found).map(([task, cell]) => [cell.name, { ...cell, task, of, how, origin, runs: [] }])));
    const queue = [];
    const busy = /* @__PURE__ */ new Set();
    ui.setting("cell", { parse: (text) => cells.has(text) ? text : void 0 });
    const chosen = () => cells.get(model.get("cell")) ?? [...cells.values()][0];
    const called = ({ of, how }) => of === "everything" ? "everything trained" : `${of} ${how}`;
    function press(cell) {
      ui.set("cell", cell.name);
      if (why) return;
      cell.runs.filter(({ state }) => state === "waiting" || state === "training").forEach(stop);
      const seed = FEWEST + Math.floor(Math.random() * (SEEDS - FEWEST));
      const run = { cell, seed, state: "waiting", step: 0, points: [], settings: { ...read(cell.line, tasks), seed } };
      cell.runs = [...cell.runs, run].slice(-KEPT);
      queue.push(run);
      next();
    }
    function next() {
      while (queue.length && busy.size < most) begin(queue.shift());
      ui.redraw();
    }
    function begin(run) {
      const url = URL.createObjectURL(new Blob([worker_default], { type: "text/javascript" }));
      run.state = "training";
      busy.add(run);
      try {
        run.worker = new Worker(url);
      } catch (error) {
        end(run, "failed", `a worker could not be started (${error.message})`);
        return;
      }
      run.worker.onmessage = ({ data }) => {
        URL.revokeObjectURL(url);
        if (data.step) run.step = data.step;
        if (data.kind === "point") {
          run.points.push(data);
          run.shown = data.shown;
        }
        if (data.kind === "done") {
          Object.assign(run, { share: data.share, seconds: data.seconds });
          end(run, "done");
        }
        if (data.kind === "failed") end(run, "failed", data.why ?? `at step ${data.step} the loss is ${data.loss}`);
        ui.redraw();
      };
      run.worker.onerror = (event) => end(run, "failed", event.message || "a worker could not be started");
      run.worker.postMessage({ kernels: kernels_default, settings: run.settings, lexicon });
    }
    function end(run, state, reason) {
      Object.assign(run, { state, why: reason });
      run.worker?.terminate();
      busy.delete(run);
      next();
    }
    function stop(run) {
      if (run.state === "waiting") queue.splice(queue.indexOf(run), 1);
      run.cell.runs = run.cell.runs.filter((one) => one !== run);
      if (run.state === "training") end(run, "stopped");
    }
    const names = Object.keys(tasks);
    const head = html("thead", {}, html("tr", {}, html("td", { class: "ft-unit", text: "Answers that are right, in %" }), names.map((name) => html("th", { scope: "col" }, html("span", { text: name[0].toUpperCase() + name.slice(1) }), html("small", { text: tasks[name].said })))));
    const buttons = /* @__PURE__ */ new Map();
    const body = html("tbody", {}, parts.map((part, row) => html(
      "tr",
      { class: part.of === parts[row - 1]?.of ? void 0 : "ft-first" },
      html("th", { scope: "row" }, html("span", { class: "ft-part" }, html("span", { class: part.of === parts[row - 1]?.of ? "ft-of ft-again" : "ft-of", text: part.of }), html("span", { class: `ft-how ex-mark ex-${part.origin}`, text: part.how }))),
      names.map((task) => {
        const cell = cells.get(part.cells[task]?.name);
        if (!cell) return html("td", { class: "ft-none" });
        const button = html("button", { type: "button", class: "ft-cell", "data-cell": cell.name }, html("span", { class: "ft-share" }), html("small", { class: "ft-yours" }), html("span", { class: "ft-bar" }));
        button.addEventListener("click", () => press(cell));
        buttons.set(cell.name, button);
        return html("td", {}, button);
      })
    )));
    const table = html("table", { class: "ft-table", "aria-label": "Share of answers that are right, in percent, by what is learned and by task" }, head, body);
    table.addEventListener("keydown", (event) => {
      const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      const at = event.target.closest?.("td");
      if (!way || !at) return;
      event.preventDefault();
      let [row, column] = [at.parentElement.rowIndex, at.cellIndex];
      for (; ; ) {
        row += way[0];
        column += way[1];
        const found = table.rows[row]?.cells[column];
        if (!found || row < 1) return;
        const button = found.querySelector("button");
        if (button) {
          button.focus();
          return;
        }
      }
    });
    table.addEventListener("focusin", ({ target }) => {
      if (target.dataset.cell) ui.set("cell", target.dataset.cell);
    });
    const title = html("p", { class: "ft-title" });
    const panel = html("div", { class: "ft-panel" }, title);
    ui.stage.append(html("div", { class: "ft-main" }, html("div", { class: "ft-left" }, table), panel));
    const chart2 = ui.chart({ height: 230, x: { label: "steps", domain: [0, 1e3] }, y: { label: "right, %", domain: [0, 100] } });
    const example = html("dl", { class: "ft-example" });
    panel.append(chart2.element, ui.root.querySelector(".ex-words"), example);
    ui.draw(() => {
      const cell = chosen();
      for (const [name, button] of buttons) drawCell(cells.get(name), button, name === cell.name);
      const { band, origin, runs, task, line } = cell;
      const { steps } = read(line, tasks);
      title.textContent = `${task[0].toUpperCase()}${task.slice(1)}, ${called(cell)}`;
      const recorded = `${cell.scores.length} recorded seeds`;
      chart2.update({
        label: `Share of answers that are right against steps: ${title.textContent}`,
        x: { domain: [0, steps] },
        marks: [
          ...band ? [{ kind: "band", ...band, origin: "fixed", name: recorded }, { kind: "line", x: band.x, y: band.mean, origin: "fixed", width: 1.4 }] : [],
          ...runs.map((run, i) => ({ kind: "line", x: run.points.map(({ step }) => step), y: run.points.map(({ share }) => share), origin, width: i === runs.length - 1 ? 2.6 : 1.2, faint: i < runs.length - 1, name: i === runs.length - 1 ? `seed ${run.seed}, here and now` : void 0 }))
        ]
      });
      const shown = runs.at(-1)?.shown;
      example.hidden = !shown;
      if (shown) {
        const good = shown.find(([, right, said]) => said === right) ?? shown[0];
        const text = JSON.stringify(good);
        if (example.dataset.text !== text) {
          example.dataset.text = text;
          const [asked, right, said] = good;
          example.replaceChildren(html("dt", { text: "asked" }), html("dd", { text: asked }), html("dt", { text: "it says" }), html("dd", { class: said === right ? "ft-right" : "ft-wrong", text: said }), ...said === right ? [] : [html("dt", { text: "right is" }), html("dd", { text: right })]);
        }
      }
      ui.say(words(cell));
    });
    function drawCell(cell, button, now) {
      const run = cell.runs.at(-1);
      const share = cell.scores.length ? mean(cell.scores) : void 0;
      const mine = run?.share ?? run?.points.at(-1)?.share;
      const [big, small, bar] = button.children;
      const text = share === void 0 ? mine === void 0 ? "·" : whole(mine) : whole(share);
      const yours = run?.state === "waiting" ? "waits" : run?.state === "training" ? share === void 0 ? "" : mine === void 0 ? "…" : whole(mine) : run?.state === "done" && share !== void 0 ? `yours ${whole(mine)}` : "";
      if (big.textContent !== text) big.textContent = text;
      if (small.textContent !== yours) small.textContent = yours;
      button.style.setProperty("--share", (share ?? mine ?? 0).toFixed(0));
      button.classList.toggle("ft-empty", share === void 0 && mine === void 0);
      button.classList.toggle("ft-now", now);
      button.tabIndex = now ? 0 : -1;
      bar.style.width = run?.state === "training" ? `${Math.round(100 * run.step / run.settings.steps)}%` : "0";
      if (why) button.setAttribute("aria-disabled", "true");
      const known = share === void 0 ? "not recorded yet" : `${whole(share)} % right, the mean of ${cell.scores.length} seeds`;
      const state = { waiting: "waits for its turn", training: "is being trained", done: `trained here: ${mine === void 0 ? "" : whole(mine)} %` }[run?.state];
      const label = `${called(cell)}, ${cell.task}: ${known}${state ? `; ${state}` : ""}. Train it`;
      if (button.getAttribute("aria-label") !== label) button.setAttribute("aria-label", label);
    }
    function words(cell) {
      const run = cell.runs.at(-1);
      const known = cell.scores.length ? `The ${cell.scores.length} recorded seeds ended at ${range(cell.scores)} %.` : "No run of it is recorded yet.";
      if (why) return `${known} Nothing can be trained here: ${why}.`;
      if (!run) return `${model.get("text")} ${known}`;
      const { steps } = run.settings;
      if (run.state === "waiting") return `Seed ${run.seed} waits until another cell has ended. ${known}`;
      if (run.state === "failed") return `Seed ${run.seed} stopped: ${run.why}. ${known}`;
      if (run.state === "training") return `Seed ${run.seed}, step ${run.step} of ${steps}${run.points.length ? `: ${whole(run.points.at(-1).share)} % right` : ""}. ${known}`;
      return `Seed ${run.seed} ends at ${whole(run.share)} % right, after ${steps} steps and ${run.seconds.toFixed(1)} seconds in your browser. ${known} Press again for another seed.`;
    }
    return () => {
      queue.length = 0;
      for (const run of busy) run.worker?.terminate();
      busy.clear();
      ui.close();
    };
  }
};
export {
  view_default as default
};
