/** The form of groups of conditions, which writes the text of the parameter `filter`. Loaded with the first endpoint that has it. */
import { type ValueKind, VALUES } from "../../core/model/column-types.js";
import type { FilterSubject } from "../../filter/expression.js";
import type { CatalogueEndpoint } from "../catalogue-body.js";
import {
  type ColumnTest,
  type TestGroup,
  filterText,
  type GroupMode,
  isGroup,
  kindOf,
  type TestName,
  testsOf,
  typedValues,
  UNARY,
} from "./condition-tree.js";
import { button, type Child, el } from "./dom.js";
import { groupIn, isValue } from "./read-conditions.js";

type Choice = Pick<NonNullable<CatalogueEndpoint["filters"]>[number], "column" | "type">;

/** Groups in groups that the form adds: those of a text may lie deeper. */
const MAX_DEPTH = 6;

const MODES: readonly (readonly [GroupMode, string])[] = [
  ["all", "all of these hold"],
  ["any", "any of these holds"],
  ["not all", "not all of these hold"],
  ["none", "none of these holds"],
];

const WORDS: Readonly<Record<TestName, string>> = {
  ...{ eq: "is", ne: "is not", gt: "more than", ge: "at least", lt: "less than", le: "at most" },
  ...{ in: "is one of", "not in": "is none of", contains: "contains", startswith: "begins with" },
  ...{ endswith: "ends with", "not contains": "does not contain", "not startswith": "does not begin with" },
  ...{ "not endswith": "does not end with", null: "is null", "not null": "is not null" },
  ...{ true: "is true", false: "is false" },
};

/** What conditions compare: columns of rows or groups, and the measures of the request, whose results are numbers. */
interface Compared {
  readonly filters: readonly Choice[];
  readonly results: readonly Pick<Choice, "column">[];
}

interface FormActions {
  /** Called with the text after each change. */
  readonly write: (text: string) => void;
  /** A list of values for an input. */
  readonly suggest: (column: string, input: HTMLInputElement) => HTMLElement;
}

export class ConditionForm {
  readonly element = el("div.conditions");
  readonly #filters: readonly Choice[];
  readonly #results: readonly Choice[];
  readonly #actions: FormActions;
  #root: TestGroup = { mode: "all", of: [] };
  /** Makes ids of inputs that are unique in the page. */
  #made = 0;

  constructor({ filters, results }: Compared, actions: FormActions) {
    this.#filters = filters;
    this.#results = results.map(({ column }) => ({ column, type: "number" }));
    this.#actions = actions;
  }

  /** Shows the groups of a text. */
  read(text: string): void {
    const group = groupIn(text, this.#kindOf, (tested) => this.#testsOf(tested).includes(tested.test));
    this.#root = group ?? { mode: "all", of: [] };
    if (group === null) this.element.replaceChildren(el("p.note", NOT_SHOWN));
    else this.#draw();
  }

  readonly #kindOf = (column: string): ValueKind => this.#compared(column)?.type ?? "text";

  readonly #compared = (column: string) =>
    [...this.#filters, ...this.#results].find((each) => each.column === column);

  #write(): void {
    this.#actions.write(filterText(this.#root, this.#kindOf));
  }

  /** After members came or went; `focus` finds what is used next. */
  #redraw(focus: (() => HTMLElement | null | undefined) | null = null): void {
    this.#draw();
    this.#write();
    focus?.()?.focus();
  }

  #draw(): void {
    this.element.replaceChildren(this.#groupView(this.#root, null, 1));
  }

  #groupView(group: TestGroup, parent: TestGroup | null, depth: number): HTMLElement {
    const label = depth === 1 ? "Conditions" : `Group of conditions, level ${String(depth)}`;
    const members = group.of.map((each) =>
      isGroup(each) ? this.#groupView(each, group, depth + 1) : this.#testView(each, group),
    );
    const view = el("div.condition-group", { role: "group", "aria-label": label });
    view.append(
      ...shown([
        (depth > 1 || group.of.length > 0) &&
          el("div.condition-head", this.#modes(group), parent && this.#removal("group", group, parent, view)),
        ...members,
        el("div.condition-add", ...this.#additions(group, depth, view)),
      ]),
    );
    return view;
  }

  #modes(group: TestGroup): HTMLElement {
    const box = el(
      "select",
      {
        "aria-label": "How the conditions of this group hold together",
        change: () => {
          group.mode = box.value as GroupMode;
          const place = indexIn(this.element, box.closest(".condition-group"));
          this.#redraw(() => groupsIn(this.element)[place]?.querySelector("select"));
        },
      },
      ...MODES.map(([value, text]) => el("option", { value, selected: value === group.mode }, text)),
    );
    return box;
  }

  #additions(group: TestGroup, depth: number, view: HTMLElement): readonly Child[] {
    const add = (member: TestGroup | ColumnTest): void => {
      const place = indexIn(this.element, view);
      group.of.push(member);
      this.#redraw(() => groupsIn(this.element)[place]?.querySelector(LAST_COLUMN));
    };
    return [
      button("Add condition", () => add(newTest(this.#choicesOf(group)))),
      depth < MAX_DEPTH && button("Add group", () => add({ mode: "any", of: [newTest(this.#filters)] })),
    ];
  }

  /** Results are compared by conditions of which each holds for itself (runtime/docs/filter.md). */
  #choicesOf(group: TestGroup) {
    const hasResults = group === this.#root && group.mode === "all";
    return [...this.#filters, ...(hasResults ? this.#results : [])];
  }

  #removal(
    what: "condition" | "group",
    member: TestGroup | ColumnTest,
    parent: TestGroup,
    view: HTMLElement,
  ): HTMLElement {
    const remove = (): void => {
      const place = indexIn(this.element, view.parentElement?.closest(".condition-group") ?? null);
      parent.of = parent.of.filter((each) => each !== member);
      this.#redraw(() => groupsIn(this.element)[place]?.querySelector(":scope > .condition-add button"));
    };
    return button("×", remove, { class: "plain", "aria-label": `Remove this ${what}` });
  }

  #testView(tested: ColumnTest, parent: TestGroup): HTMLElement {
    const view = el("div.condition", { role: "group", "aria-label": `Condition on ${tested.column}` });
    view.append(
      this.#columns(tested, parent, view),
      this.#tests(tested, parent, view),
      ...shown([!UNARY.includes(tested.test) && this.#value(tested)]),
      this.#removal("condition", tested, parent, view),
    );
    return view;
  }

  /** Draws a condition anew after its column or test has changed. */
  #replace(tested: ColumnTest, parent: TestGroup, view: HTMLElement, focus: string): void {
    const made = this.#testView(tested, parent);
    view.replaceWith(made);
    made.querySelector<HTMLElement>(`select[aria-label="${focus}"]`)?.focus();
    this.#write();
  }

  #columns(tested: ColumnTest, parent: TestGroup, view: HTMLElement): HTMLElement {
    const choices = this.#choicesOf(parent);
    const own = this.#compared(tested.column);
    // What is compared already stays a choice.
    const shown = own === undefined || choices.includes(own) ? choices : [...choices, own];
    const options = shown.flatMap(({ column, type }) =>
      partsOf(type).map((part) => ({ column, part, text: part === null ? column : `${part} of ${column}` })),
    );
    const box = el(
      "select",
      {
        "aria-label": "Column",
        change: () => {
          const { column = "", part = null } = options[box.selectedIndex] ?? {};
          Object.assign(tested, { column, part });
          if (!this.#testsOf(tested).includes(tested.test)) tested.test = "eq";
          this.#replace(tested, parent, view, "Column");
        },
      },
      ...options.map(({ column, part, text }) =>
        el("option", { selected: column === tested.column && part === tested.part }, text),
      ),
    );
    return box;
  }

  /** None of a column that is not open. */
  #testsOf({ column, part }: ColumnTest): readonly TestName[] {
    if (this.#compared(column) === undefined) return [];
    const kind = this.#kindOf(column);
    return testsOf(kind, part, VALUES[kind].ordered);
  }

  #tests(tested: ColumnTest, parent: TestGroup, view: HTMLElement): HTMLElement {
    const box = el(
      "select",
      {
        "aria-label": "Test",
        change: () => {
          tested.test = box.value as TestName;
          this.#replace(tested, parent, view, "Test");
        },
      },
      ...this.#testsOf(tested).map((value) =>
        el("option", { value, selected: value === tested.test }, WORDS[value]),
      ),
    );
    return box;
  }

  #value(tested: ColumnTest): HTMLElement {
    const kind = kindOf(this.#kindOf(tested.column), tested.part);
    const isList = tested.test === "in" || tested.test === "not in";
    const input = el("input", {
      ...{ type: "text", id: `condition-${String((this.#made += 1))}`, "aria-label": "Value" },
      ...{ value: tested.value, spellcheck: "false", autocomplete: "off" },
      placeholder: isList ? "values, separated by commas" : kind === "date" ? "YYYY-MM-DD" : null,
      inputmode: kind === "integer" || kind === "number" ? "decimal" : "text",
      input: () => {
        tested.value = input.value;
        check();
        this.#write();
      },
    });
    /** The browser sends no form with a value that is none, and says so. */
    const check = (): void => {
      const isGood = typedValues(tested).every((text) => isValue(kind, text));
      input.setCustomValidity(
        isGood ? "" : `Enter ${isList ? "values that are each " : ""}${VALUES[kind].text}.`,
      );
      input.toggleAttribute("aria-invalid", !isGood);
    };
    check();
    const isResult = this.#results.some(({ column }) => column === tested.column);
    const list = tested.part === null && !isResult && this.#actions.suggest(tested.column, input);
    return el("span.condition-value", input, list);
  }
}

const NOT_SHOWN = "These conditions cannot be shown as groups. Change their text.";

/** The column of the last condition of a group. */
const LAST_COLUMN = ':scope > :nth-last-child(2) select[aria-label="Column"]';

const newTest = ([first]: readonly Choice[]): ColumnTest => ({
  ...{ column: first?.column ?? "", part: null },
  ...{ test: "eq", value: "" },
});

function partsOf(kind: ValueKind): readonly FilterSubject["part"][] {
  if (kind === "date") return [null, "year", "month", "day"];
  return kind === "date-time" ? [null, "date", "year", "month", "day"] : [null];
}

function groupsIn(element: HTMLElement): readonly HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>(".condition-group")];
}

function indexIn(element: HTMLElement, group: Element | null): number {
  return groupsIn(element).findIndex((each) => each === group);
}

const shown = (parts: readonly Child[]): readonly (Node | string)[] =>
  parts.filter((part) => part !== null && part !== false);
