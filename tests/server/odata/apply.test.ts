import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { ask, read, serveOrders, url } from "./orders-by-odata.js";

await serveOrders();

const apply = (text: string, more = "", headers: Record<string, string> = {}) =>
  read(`/shop__sums?$apply=${text}${more}`, headers);

describe("$apply", () => {
  it.each([
    ["groupby((active),aggregate(n))", "group_by=active&measures=n"],
    ["groupby((active,status),aggregate(total,n))", "group_by=active,status&measures=total,n&limit=3"],
    ["aggregate(total,n)", "measures=total,n"],
    [
      "filter(status eq 'paid')/groupby((active), aggregate(n))",
      "group_by=active&measures=n&filter=status eq 'paid'",
    ],
    [
      "filter(status eq 'paid' or active)/filter(id gt 1)/aggregate(n)",
      "measures=n&filter=(status eq 'paid' or active) and (id gt 1)",
    ],
    [
      "filter(status ne 'void')/groupby((status),aggregate(n))/filter(n gt 1)",
      "group_by=status&measures=n&filter=status ne 'void'&n[gt]=1",
    ],
    [
      "groupby((status),aggregate(n))/filter(status ne 'held' and n gt 1)",
      "group_by=status&measures=n&filter=status ne 'held'&n[gt]=1",
    ],
    ["groupby((status),aggregate(n))/topcount(2,n)", "group_by=status&measures=n&top=2&sort_by=n"],
    [
      "groupby((status),aggregate(n))/filter(n lt 9)/bottomcount(1,n)",
      "group_by=status&measures=n&n[lt]=9&top=1&sort_by=n&sort_direction=ASC",
    ],
    [
      "groupby((rollup($all,active)),aggregate(n))/filter(n gt 1)",
      "group_by=active&measures=n&totals=true&n[gt]=1&limit=3",
    ],
    [
      "groupby((rollup($all,active,status)),aggregate(total,n))",
      "group_by=active,status&measures=total,n&totals=true&limit=3",
    ],
  ])("%s has the groups of the endpoint", async (text, native) => {
    const { text: expected, status } = await sendRequest(url, `/v1/shop/sums?${encodeURI(native)}`, {
      key: KEYS.tier3,
    });
    expect(status).toBe(200);
    expect((await apply(text))["value"]).toEqual(JSON.parse(expected));
  });

  it("has totals behind groups by concat", async () => {
    const { value } = await apply("filter(id gt 1)/concat(groupby((active),aggregate(n)),aggregate(n))");
    expect(value).toEqual([{ active: false, n: 2 }, { active: true, n: 2 }, { n: 4 }]);
  });

  it("has totals of each level by rollup, which say it", async () => {
    const body = await apply("filter(id gt 1)/groupby((rollup($all,active)),aggregate(n))");
    expect(body["value"]).toEqual([
      { active: false, n: 2, level: 1 },
      { active: true, n: 2, level: 1 },
      { active: null, n: 4, level: 0 },
    ]);
    expect(body["@odata.context"]).toMatch(/#Collection\(Rows\.shop__sums\)\(active,level,n\)$/);
  });

  it("has no groups where none are asked for", async () => {
    expect((await apply("groupby((active),aggregate(n))", "&$top=0"))["value"]).toEqual([]);
  });

  it("has pages, an order and exact numbers", async () => {
    const first = await apply("groupby((status),aggregate(n))", "&$orderby=n desc&$top=4", {
      prefer: "maxpagesize=2",
    });
    expect(first["@odata.context"]).toBe(`${url}/odata/$metadata#Collection(Rows.shop__sums)(status,n)`);
    const next = first["@odata.nextLink"] as string;
    const second = await sendRequest(url, next.slice(url.length), { key: KEYS.tier3 });
    const rows = (JSON.parse(second.text) as { value: { n: number }[] }).value;
    expect([...(first["value"] as { n: number }[]), ...rows].map(({ n }) => n)).toEqual([2, 1, 1, 1]);
    const exact = await apply("aggregate(total)", "", { accept: "application/json;IEEE754Compatible=true" });
    expect(exact["value"]).toEqual([{ total: "9007199254741003" }]);
  });
});

/** A use of each transformation of OData's extension for data aggregation 4.0, 3. */
const TRANSFORMATIONS: Readonly<Record<string, string>> = {
  aggregate: "aggregate(n)",
  groupby: "groupby((active),aggregate(n))",
  filter: "filter(id gt 1)/aggregate(n)",
  concat: "concat(groupby((active),aggregate(n)),aggregate(n))",
  topcount: "groupby((status),aggregate(n))/topcount(1,n)",
  bottomcount: "groupby((status),aggregate(n))/bottomcount(1,n)",
  topsum: "groupby((status),aggregate(n))/topsum(1,n)",
  bottomsum: "groupby((status),aggregate(n))/bottomsum(1,n)",
  toppercent: "groupby((status),aggregate(n))/toppercent(50,n)",
  bottompercent: "groupby((status),aggregate(n))/bottompercent(50,n)",
  identity: "identity",
  expand: "expand(lines,filter(id gt 1))",
  search: "search(paid)",
  compute: "compute(id add 1 as next)/aggregate(n)",
  join: "join(lines as line)",
  outerjoin: "outerjoin(lines as line)",
  nest: "nest(groupby((status)) as statuses)",
  orderby: "groupby((status),aggregate(n))/orderby(n)",
  top: "groupby((status),aggregate(n))/top(1)",
  skip: "groupby((status),aggregate(n))/skip(1)",
  ancestors: "ancestors($root/sums,tree,id,filter(id gt 1))",
  descendants: "descendants($root/sums,tree,id,filter(id gt 1))",
  traverse: "traverse($root/sums,tree,id,preorder)",
};

describe("$metadata", () => {
  it("names the transformations, groups and measures that $apply takes, and no others", async () => {
    const { text } = await ask("/$metadata?$format=json");
    const schemas = Object.values(JSON.parse(text) as Record<string, Record<string, object>>);
    const members = schemas.flatMap((schema) => Object.values(schema) as Record<string, object>[]);
    const said = Object.assign({}, ...members.map(({ shop__sums: sums = {} }) => sums)) as Record<
      string,
      unknown
    >;
    const applied = said["@Aggregation.ApplySupported"] as Record<string, readonly string[]>;
    const statuses = await Promise.all(
      Object.entries(TRANSFORMATIONS).map(async ([name, use]) => {
        const { status } = await ask(`/shop__sums?$apply=${use}`);
        return [name, status] as const;
      }),
    );
    const offered = statuses.flatMap(([name, status]) => (status === 200 ? [name] : []));
    expect(offered.toSorted()).toEqual(applied["Transformations"]?.toSorted());
    expect(statuses.filter(([, status]) => status !== 200 && status !== 501)).toEqual([]);
    expect(applied["Rollup"]).toBe("SingleHierarchy");
    expect(applied["GroupableProperties"]).toEqual(["status", "active"]);
    const measures = Object.keys(said).flatMap(
      (term) => /^@Aggregation\.CustomAggregate#(.+)$/.exec(term)?.[1] ?? [],
    );
    expect(measures.toSorted()).toEqual(["n", "total"]);
  });
});
