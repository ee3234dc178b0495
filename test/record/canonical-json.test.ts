import t from "tap";
import { canonicalJson } from "../../src/record/canonical-json.js";

t.test("the example of RFC 8785, section 3.2.2", async (t) => {
  const value = {
    numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  t.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

t.test("keys sort by UTF-16 code units (RFC 8785, section 3.2.3)", async (t) => {
  const keys = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
  const value = Object.fromEntries(keys.map((key) => [key, 0]));
  const order = [...canonicalJson(value).matchAll(/"((?:[^"\\]|\\.)*)":0/gu)].map((match) => match[1]);
  t.same(order, ["\\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"]);
});

t.test("measured data: nothing vanishes into null", async (t) => {
  t.equal(
    canonicalJson({ a: Number.NaN, b: -Infinity, c: undefined, d: 5n }),
    '{"a":"NaN","b":"-Infinity","d":"5"}',
  );
  t.throws(() => canonicalJson({ pixels: new Uint8Array(4) }), TypeError);
  t.throws(() => canonicalJson(() => 1), TypeError);
});
