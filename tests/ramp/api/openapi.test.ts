/** Error responses of the ramp's OpenAPI document. */
import { expect, it } from "vitest";
import { ROUTES } from "../../../runtime/ramp/api/all-routes.js";
import { openApiDocument } from "../../../runtime/ramp/api/openapi.js";
import { newCustomer, ownWorld, type Reply } from "../support/world.js";

interface ErrorResponse {
  readonly content: {
    readonly "application/json": {
      readonly schema: { readonly allOf: [unknown, { readonly properties: { error: { enum: unknown[] } } }] };
    };
  };
}

const document = openApiDocument("https://ramp.example", ROUTES);

it("documents every error that bad parameters and bodies cause at any endpoint", async () => {
  const world = await ownWorld();
  const project = await world.project();
  const access = {
    project: project.basic,
    customer: await newCustomer(world, project),
    provider: undefined,
    public: undefined,
  };
  const paths = document["paths"] as Record<
    string,
    Record<string, { responses: Record<string, ErrorResponse> }>
  >;
  const isDocumented = (path: string, method: string, { status, json }: Reply): boolean => {
    const response = paths[path]?.[method.toLowerCase()]?.responses[String(status)];
    return (
      response?.content["application/json"].schema.allOf[1].properties.error.enum.includes(json.error) ??
      false
    );
  };
  for (const { access: kind, method, path } of ROUTES) {
    const auth = access[kind];
    const target = path.replace(/\{\w+\}/g, project.projectId);
    const given = { ...(auth === undefined ? {} : { auth }) };
    const twice = await world.call(method, `${target}?limit=1&limit=2`, given);
    expect([path, twice.json.error]).toEqual([path, "INVALID_REQUEST"]);
    expect(isDocumented(path, method, twice), `${method} ${path}`).toBe(true);
    if (method !== "POST") continue;
    const large = await world.call(method, target, { ...given, body: { x: "x".repeat(1_100_000) } });
    expect([path, large.json.error]).toEqual([path, "BODY_TOO_LARGE"]);
    expect(isDocumented(path, method, large), `${method} ${path}`).toBe(true);
  }
});
