/** Display names of the meters. */
const meters: Record<string, string> = {
  gpu_instance_seconds: 'Instance time',
  inference_input_tokens: 'Input tokens',
  inference_cached_tokens: 'Cached input tokens',
  inference_output_tokens: 'Output tokens',
}

export const usage = {
  meter: (name: string) => meters[name] ?? name,
  deployModel: 'Deploy a model',

  soFar: 'Estimated so far',
  period: (from: string, to: string) => `This period: ${from} to ${to}`,
  instanceTime: 'Instance time',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',

  estimate: 'Estimate for this period',
  estimateHint: 'Unrounded. The invoice rounds each line.',
  item: 'Item',
  quantity: 'Quantity',
  unitPrice: 'Unit price',
  amount: 'Amount',
  share: 'Share',
  shareOf: (name: string) => `Share of ${name}`,
  total: 'Total',
  perHour: (price: string) => `${price}/hour`,
  perMillion: (price: string) => `${price}/million`,
  free: 'Free',
  nothingYet: 'No usage in this period',
  nothingYetHint: 'Usage appears seconds after a deployment starts.',

  by: {
    day: 'Usage by day',
    team: 'Usage by team',
    member: 'Usage by member',
    deployment: 'Usage by deployment',
    model: 'Usage by model',
  },
  groupBy: 'Group by',
  groupHeads: { day: 'Day', team: 'Team', member: 'Member', deployment: 'Deployment', model: 'Model' },
  noTeam: 'No team',
  deletedTeam: 'A deleted team',
  ownOnly: 'This is your own usage. Admins see that of all members.',
  noneInRange: 'No usage on these days',
  range: 'Date range',
  ranges: {
    period: 'This period',
    7: 'Last 7 days',
    30: 'Last 30 days',
    90: 'Last 90 days',
    custom: 'Custom',
  },
  from: 'First day',
  to: 'Last day',
  span: (from: string, to: string) => (from === to ? from : `${from} to ${to}`),
  measure: 'Measure',
  measures: { cost: 'Cost', hours: 'Hours', tokens: 'Tokens' },
  download: 'Download CSV',
  chart: {
    cost: (from: string, to: string, total: string) => `Cost from ${from} to ${to}: ${total} in total`,
    hours: (from: string, to: string, total: string) =>
      `Instance time from ${from} to ${to}: ${total} in total`,
    tokens: (from: string, to: string, total: string) => `Tokens from ${from} to ${to}: ${total} in total`,
  },
  chartHint: 'Use the arrow keys to move between days. The table below has the totals.',
  other: 'Other',
  emptyChart: {
    cost: 'No charges on these days.',
    hours: 'No instances ran on these days.',
    tokens: 'No tokens on these days.',
  },
  breakdown: 'Usage by meter',
  meterHead: 'Meter',

  anomalies: (count: number) =>
    count === 1 ? '1 open finding about your usage' : `${count} open findings about your usage`,
  anomaliesHint: 'A usage check found an inconsistency. The amounts may still change.',
  seeAnomalies: 'See findings',
  toRequests: 'Your requests',
}
