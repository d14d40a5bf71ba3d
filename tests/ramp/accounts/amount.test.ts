/** Amounts are exact, and neither a rate nor a percent is one. */
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  Amount,
  type AmountText,
  type PercentText,
  type RateText,
} from "../../../runtime/ramp/accounts/amount.js";

/** Units of 10^-18: exact beside `Amount`, which knows no units. */
const UNITS = 10n ** 18n;
const units = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
const textOf = (of: bigint): AmountText => {
  const digits = String(of < 0n ? -of : of).padStart(19, "0");
  return `${of < 0n ? "-" : ""}${digits.slice(0, -18)}.${digits.slice(-18)}`;
};

it("adds, subtracts and compares without losing a digit", () => {
  fc.assert(
    fc.property(units, units, (a, b) => {
      const [left, right] = [Amount.of(textOf(a)), Amount.of(textOf(b))];
      expect(left.plus(right).equals(textOf(a + b))).toBe(true);
      expect(left.minus(right).equals(textOf(a - b))).toBe(true);
      expect(Amount.sum([left, textOf(b), left.negated()]).equals(right)).toBe(true);
      expect([left.isLess(right), left.equals(right), left.isMore(right)]).toEqual([a < b, a === b, a > b]);
      expect([left.isZero(), left.isPositive()]).toEqual([a === 0n, a > 0n]);
    }),
    { seed: 1 },
  );
});

it("is rounded up away from zero, and down to it", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), (of) => {
      const whole = of / UNITS;
      expect(Amount.of(textOf(of)).roundedDown(0).text()).toBe(String(whole));
      expect(Amount.of(textOf(of)).roundedUp(0).text()).toBe(
        String(whole * UNITS === of ? whole : whole + 1n),
      );
    }),
    { seed: 1 },
  );
});

it("is sorted from the least", () => {
  const sorted = Amount.sorted(["10", "9.5", "100"]).map((amount) => amount.text(2));
  expect(sorted).toEqual(["9.50", "10.00", "100.00"]);
});

it("has percents, a share and another currency", () => {
  const amount = Amount.of("200.00");
  expect(amount.percent("0.5").text()).toBe("1");
  expect(amount.lessPercent("0.5").text()).toBe("199");
  expect(amount.share("1", "3").roundedDown(2).text()).toBe("66.66");
  expect(amount.at("1.08").text(2)).toBe("216.00");
  expect(Amount.unit(6).text()).toBe("0.000001");
});

it("takes no rate and no percent", () => {
  const [rate, percent]: [RateText, PercentText] = ["1.08", "0.5"];
  const amount = Amount.of("1");
  // @ts-expect-error: a rate is no amount
  amount.plus(rate);
  // @ts-expect-error: a percent is no amount
  amount.isMore(percent);
  // @ts-expect-error: a percent is no rate
  amount.at(percent);
  // @ts-expect-error: a rate is no percent
  expect(amount.percent(rate).text()).toBe("0.0108");
});
