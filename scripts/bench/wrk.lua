-- Sends the HTTP/1.1 texts of a file, separated by NUL, in turn and prints the result as one JSON line.
-- Arguments: the file, what `{unique}` in a text begins with, and the requests a second (0: as many as the server answers).
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, us; } timeval; int gettimeofday(timeval *, void *);")
local time, texts, sent, due = ffi.new("timeval"), {}, 0, 0
local unique, interval

local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
end

-- The next free connection sends the next request when it is due.
local function pause()
  due = (due == 0 and now() or due) + interval
  return math.max(0, due - now())
end

function init(args)
  for text in io.open(args[1], "rb"):read("*a"):gmatch("[^%z]+") do texts[#texts + 1] = text end
  unique = args[2]
  if tonumber(args[3]) > 0 then
    interval = 1000 / args[3]
    delay = pause
  end
end

function request()
  sent = sent + 1
  return (texts[(sent - 1) % #texts + 1]:gsub("{unique}", unique .. sent))
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"milliseconds":%.3f,"p50":%.3f,"p99":%.3f,"failures":%d}\n',
    summary.requests, summary.duration / 1000, latency:percentile(50) / 1000, latency:percentile(99) / 1000, failures
  ))
end
