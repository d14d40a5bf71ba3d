import { describe, expect, it } from "vitest";
import { similarPaths } from "../../../runtime/pages/explorer/similar-paths.js";

describe("paths like one that leads nowhere", () => {
  const PATHS = ["/v1/cards/spend", "/v1/bridges/volume", "/v1/bridges/netflow", "/v1/tokens/volume"];
  it.each([
    ["/v1/bridge/volumes", ["/v1/bridges/volume", "/v1/bridges/netflow"]],
    ["/v1/bridges/volume_daily", ["/v1/bridges/volume", "/v1/bridges/netflow", "/v1/tokens/volume"]],
    ["/v1/v2/of", []],
  ])("%s are %j", (path, similar) => {
    expect(similarPaths(path, PATHS)).toEqual(similar);
  });

  it("are five at most", () => {
    const many = Array.from({ length: 9 }, (_, at) => `/v1/volume/${String(at)}`);
    expect(similarPaths("/v1/volume", many)).toEqual(many.slice(0, 5));
  });
});
