import Big from "big.js";

/** The decimal text of an amount of one currency, as messages and rows have it. A plain text may be one, a rate or a percent may not. */
export type AmountText = string & { readonly "~unit"?: "amount" };

/** Units of the destination currency per unit of the source currency, as a decimal text. */
export type RateText = string & { readonly "~unit"?: "rate" };

/** Parts of a hundred, as a decimal text. */
export type PercentText = string & { readonly "~unit"?: "percent" };

type AnyAmount = Amount | AmountText;

/** An exact amount of one currency; immutable. What it is added to or compared with is of the same currency. */
export class Amount {
  static readonly ZERO = new Amount(new Big(0));

  readonly #value: Big;

  private constructor(value: Big) {
    this.#value = value;
  }

  static of(amount: AnyAmount): Amount {
    return amount instanceof Amount ? amount : new Amount(new Big(amount));
  }

  static sum(amounts: Iterable<AnyAmount>): Amount {
    return [...amounts].reduce<Amount>((sum, amount) => sum.plus(amount), Amount.ZERO);
  }

  /** From the least to the greatest. */
  static sorted(amounts: readonly AnyAmount[]): readonly Amount[] {
    return amounts.map((amount) => Amount.of(amount)).sort((left, right) => left.compare(right));
  }

  /** The least amount of a currency with so many decimals. */
  static unit(decimals: number): Amount {
    return new Amount(new Big(10).pow(-decimals));
  }

  plus(other: AnyAmount): Amount {
    return new Amount(this.#value.plus(Amount.of(other).#value));
  }

  minus(other: AnyAmount): Amount {
    return new Amount(this.#value.minus(Amount.of(other).#value));
  }

  negated(): Amount {
    return new Amount(this.#value.neg());
  }

  abs(): Amount {
    return new Amount(this.#value.abs());
  }

  /** As much in the destination currency. */
  at(rate: RateText): Amount {
    return new Amount(this.#value.times(rate));
  }

  percent(percent: PercentText): Amount {
    return new Amount(this.#value.times(percent).div(100));
  }

  lessPercent(percent: PercentText): Amount {
    return new Amount(this.#value.times(new Big(100).minus(percent)).div(100));
  }

  /** As much of it as `part` is of `whole`. */
  share(part: AnyAmount, whole: AnyAmount): Amount {
    return new Amount(this.#value.times(Amount.of(part).#value).div(Amount.of(whole).#value));
  }

  roundedUp(decimals: number): Amount {
    return new Amount(this.#value.round(decimals, Big.roundUp));
  }

  roundedDown(decimals: number): Amount {
    return new Amount(this.#value.round(decimals, Big.roundDown));
  }

  rounded(decimals: number): Amount {
    return new Amount(this.#value.round(decimals));
  }

  /** Negative where it is less. */
  compare(other: AnyAmount): number {
    return this.#value.cmp(Amount.of(other).#value);
  }

  equals(other: AnyAmount): boolean {
    return this.compare(other) === 0;
  }

  isMore(than: AnyAmount): boolean {
    return this.compare(than) > 0;
  }

  isLess(than: AnyAmount): boolean {
    return this.compare(than) < 0;
  }

  isZero(): boolean {
    return this.equals(Amount.ZERO);
  }

  isPositive(): boolean {
    return this.isMore(Amount.ZERO);
  }

  /** Without an exponent; with exactly so many decimals, or as many as it has. */
  text(decimals?: number): string {
    return this.#value.toFixed(decimals);
  }
}

export function isPositiveRate(rate: RateText): boolean {
  return new Big(rate).gt(0);
}

export function greaterPercent(one: PercentText, other: PercentText): PercentText {
  return new Big(one).lt(other) ? other : one;
}
