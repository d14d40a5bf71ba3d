-- Sends the requests of a file (HTTP/1.1 texts separated by NUL) in turn and prints the result as one JSON line.
local requests, last = {}, 0

function init(args)
  for text in io.open(args[1], "rb"):read("*a"):gmatch("[^%z]+") do requests[#requests + 1] = text end
end

function request()
  last = last % #requests + 1
  return requests[last]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"milliseconds":%.3f,"p50":%.3f,"p99":%.3f,"failures":%d}\n',
    summary.requests, summary.duration / 1000, latency:percentile(50) / 1000, latency:percentile(99) / 1000, failures
  ))
end
