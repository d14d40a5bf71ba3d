// The bare server in Go: net/http and pgx, nothing between them. BENCH_ROWS: the rows are encoded here; otherwise the database makes
// the JSON. BENCH_RESPONSES: the responses of this file are sent. No keys, limits, checks or log.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

const rows = "SELECT day, observed_at, region, category, label, amount_raw, amount_usd, change_pct FROM bench.hot WHERE day >= $1 ORDER BY day LIMIT $2"

type row struct {
	Day        pgtype.Date    `json:"day"`
	ObservedAt time.Time      `json:"observed_at"`
	Region     string         `json:"region"`
	Category   string         `json:"category"`
	Label      string         `json:"label"`
	AmountRaw  pgtype.Numeric `json:"amount_raw"`
	AmountUSD  float64        `json:"amount_usd"`
	ChangePct  float64        `json:"change_pct"`
}

type sent struct {
	Headers []string `json:"headers"`
	Tag     string   `json:"tag"`
	Body    string   `json:"body"`
}

func serveResponses(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	responses := map[string]sent{}
	if err := json.Unmarshal(text, &responses); err != nil {
		panic(err)
	}
	http.HandleFunc("/v1/", func(response http.ResponseWriter, request *http.Request) {
		found, known := responses[request.Method+" "+request.URL.RequestURI()]
		if !known {
			response.WriteHeader(http.StatusNotFound)
			return
		}
		header := response.Header()
		for i := 0; i+1 < len(found.Headers); i += 2 {
			header.Set(found.Headers[i], found.Headers[i+1])
		}
		if request.Header.Get("If-None-Match") == found.Tag {
			header.Del("Content-Length")
			header.Del("Content-Type")
			response.WriteHeader(http.StatusNotModified)
			return
		}
		response.Write([]byte(found.Body))
	})
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func main() {
	if file := os.Getenv("BENCH_RESPONSES"); file != "" {
		serveResponses(file)
	}
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		panic(err)
	}
	read := readText
	if os.Getenv("BENCH_ROWS") != "" {
		read = readRows
	}
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		day, err := time.Parse(time.DateOnly, query.Get("start_date"))
		limit, limitErr := strconv.Atoi(query.Get("limit"))
		if err != nil || limitErr != nil || limit < 1 {
			response.WriteHeader(http.StatusNotFound)
			return
		}
		body, err := read(request.Context(), pool, day, limit)
		if err != nil {
			response.WriteHeader(http.StatusInternalServerError)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Content-Length", strconv.Itoa(len(body)))
		response.Write(body)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func readText(ctx context.Context, pool *pgxpool.Pool, day time.Time, limit int) (body []byte, err error) {
	err = pool.QueryRow(ctx, "SELECT json_agg(t)::text FROM ("+rows+") t", day, limit).Scan(&body)
	return body, err
}

func readRows(ctx context.Context, pool *pgxpool.Pool, day time.Time, limit int) ([]byte, error) {
	found, err := pool.Query(ctx, rows, day, limit)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
