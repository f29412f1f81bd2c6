/** Of the meters: what they count, as a row's heading and within a sentence. */
const meters: Record<string, string> = {
  gpu_instance_seconds: 'Instance time',
  inference_input_tokens: 'Input tokens',
  inference_output_tokens: 'Output tokens',
}

export const usage = {
  title: 'Usage',
  description: 'What your organization uses and what it costs. Days are in UTC.',
  meter: (name: string) => meters[name] ?? name,
  deployModel: 'Deploy a model',

  soFar: 'Estimated so far',
  period: (from: string, to: string) => `This period: ${from} to ${to}`,
  instanceTime: 'Instance time',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',

  estimate: 'Estimate of this period',
  estimateHint: 'Not rounded; the invoice rounds each line.',
  item: 'Item',
  quantity: 'Quantity',
  unitPrice: 'Unit price',
  amount: 'Amount',
  total: 'Total',
  perHour: (price: string) => `${price} per hour`,
  perMillion: (price: string) => `${price} per million`,
  free: 'Free',
  nothingYet: 'Nothing used in this period',
  nothingYetHint: 'Usage appears here within seconds of a deployment’s start.',

  byDay: 'Usage by day',
  range: 'Days shown',
  ranges: {
    period: 'This period',
    7: 'Last 7 days',
    30: 'Last 30 days',
    90: 'Last 90 days',
    custom: 'Other days',
  },
  from: 'First day',
  to: 'Last day',
  span: (from: string, to: string) => (from === to ? from : `${from} to ${to}`),
  measure: 'What is shown',
  measures: { cost: 'Cost', hours: 'Hours', tokens: 'Tokens' },
  download: 'Download CSV',
  chart: {
    cost: (from: string, to: string, total: string) => `Cost from ${from} to ${to}, in total ${total}`,
    hours: (from: string, to: string, total: string) =>
      `Instance time from ${from} to ${to}, in total ${total}`,
    tokens: (from: string, to: string, total: string) => `Tokens from ${from} to ${to}, in total ${total}`,
  },
  chartHint: 'The arrow keys go from day to day. The table below has the sums.',
  other: 'Other',
  emptyChart: {
    cost: 'Nothing was charged for on these days.',
    hours: 'No instance ran on these days.',
    tokens: 'No tokens were counted on these days.',
  },
  breakdown: 'Usage by meter',
  meterHead: 'Meter',

  anomalies: (count: number) =>
    count === 1 ? '1 open finding about your usage' : `${count} open findings about your usage`,
  anomaliesHint: 'Checks of the usage found something that should not be. The amounts may still change.',
  seeAnomalies: 'See findings',
  anomaliesTitle: 'Open findings',
  anomalyKind: (kind: string) => anomalyKinds[kind] ?? kind.replaceAll('_', ' '),
  since: (moment: string) => `Since ${moment}`,
  toDeployment: 'To the deployment',
}

const anomalyKinds: Record<string, string> = {
  instance_without_deployment: 'Instance without a deployment',
  missing_span: 'Time not counted',
  unclosed_span: 'Time counted too long',
  overlapping_spans: 'Time counted twice',
  impossible_span: 'Impossible times',
  provider_disagrees: 'Differs from the provider',
  unsettled_usage: 'Not settled yet',
  missing_price: 'No price',
  unbalanced_ledger: 'Sums differ',
}
