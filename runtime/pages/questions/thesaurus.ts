/**
 * Words that mean the same in questions about data, a group a line: business, finance, operations, the web. A word may stand in several
 * groups. Catalogues add their own by `meta.routewright.synonyms`.
 */
const GROUPS = `
revenue sales turnover income earnings proceeds takings receipts
volume amount value turnover sum
spend spending expenditure expense outlay paid
cost charge price expense
price quote rate valuation worth
fee commission charge toll
profit margin gain earning surplus
loss deficit
customer client buyer shopper consumer purchaser patron
customer payer spender buyer shopper
user people person individual participant human member
user account customer actives
account wallet address
shop store merchant retailer vendor seller outlet
supplier vendor provider
purchase order buy transaction
order sale deal
payment purchase transaction expenditure
transfer transaction movement
transfer send sent remittance
move transfer flow
bridge bridging bridged
chain network blockchain
token coin asset currency cryptocurrency instrument
asset holding
native local
ether eth
hash txid digest
inflow incoming inbound received receive entering deposit
outflow outgoing outbound leaving leave sent withdrawn exit exits
netflow
withdrawal withdraw withdrawn redemption
deposit deposited topup
balance holding position funds
holder owner holding hold
own owner possess belong
holding balance
stake staked staking locked
yield apy apr return interest reward
lend lender lending loan credit
borrow borrower borrowing loan debt
supply circulation outstanding issued issuance
mint minted issue created
burn destroyed
refund reimbursement chargeback returned
discount rebate cashback reduction
tax vat duty levy
invoice bill
quote offer proposal estimate
contract agreement
conversion convert converted turned
churn attrition lost cancellation
retention retained stickiness loyalty stayed stay
signup registration registered joined onboarding onboarded newcomer
register registry directory list
new newcomer fresh
active activity live engaged
activity action operation event
usage use consumption utilization
visit view impression
error failure fault defect incident
late overdue delayed delinquent
latency delay duration speed
response reply answer
wait queue pending backlog
settled settle completed cleared finalized
status state condition stage
stock inventory
shipment delivery parcel dispatch
employee staff worker headcount personnel
salary wage pay compensation payroll
manager boss lead
team department unit
country nation
region area territory zone
city town
location place geography map where
category type kind class sector industry segment line
product item article sku goods
name title label
operate operator run runner
company firm organization business enterprise operator corporation
project protocol app application
application app
software client program
node peer server
device machine equipment
energy power electricity
consumption consumed used usage
emission carbon co2 footprint greenhouse climate
share proportion portion fraction ratio percent part rate
average mean typical
median middle typical p50
percentile quantile p90 p95 p99
largest biggest highest greatest max maximum
largest large big
smallest lowest least min minimum
top best leading ranking rank leaderboard bestselling
count number quantity many
distinct unique different individual
total sum overall aggregate combined
cumulative cum running accumulated
distribution spread histogram dispersion breakdown
breakdown split composition
growth change increase trend
change difference delta
forecast projection projected expected prediction
estimate estimated approximation
history historical timeline
first earliest initial
last latest recent newest
time period window
range period interval window
freshness fresh loaded updated recent recency stale staleness
dataset table
audit audited reviewed
fork upgrade
validator staker
block slot
gas computation
swap trade exchange exchanged traded
trade traded trading
pool liquidity
invite inviter referral referrer
recipient receiver beneficiary
beginning start inception launch
launch started launched
origin source from
target destination remote
detail info information profile
search lookup find
group community
trust confidence
wrapper wrapped
cohort group
full filled fill capacity
size weight bytes storage
net less minus excluding
money amount dollar euro cash funds
money value worth tvl
busy popular frequent common traffic
repeat again returning recurring loyal
claim claimed redeem redeemed accept accepted
fail failed failure error rejected unsuccessful declined
success successful succeeded completed ok
open pending unfinished outstanding unresolved
cancel cancelled aborted
size large big length
age old tenure
speed velocity fast pace throughput
concentration distribution spread
health quality reliability
rank position place
liquidity depth
fee cost gas
ads advertising campaign marketing
click ctr clickthrough
lead prospect opportunity
acquisition acquired new
funnel conversion step
segment cohort group tier bucket band
bracket range bucket band
eu europe european
us usa america american
uk britain british
item product offer goods
link connection relation edge relationship
wealth balance assets
supply circulating
work active running
peer node neighbour
crawl crawled visited
attribution touch channel touchpoint
channel source medium
limit cap maximum ceiling
target goal objective
date day
`;

/** Groups by the word: their numbers. */
export function groupsOf(stem: (word: string) => string): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [i, line] of GROUPS.trim().split("\n").entries())
    for (const word of new Set(line.split(" ").map(stem))) groups.set(word, [...(groups.get(word) ?? []), i]);
  return groups;
}
