/** Findings of the usage checks. */
export const findings = {
  anomaliesTitle: 'Open findings',
  anomalyKind: (kind: string) => anomalyKinds[kind] ?? kind.replaceAll('_', ' '),
  since: (moment: string) => `Since ${moment}`,
  toDeployment: 'Go to deployment',
}

const anomalyKinds: Record<string, string> = {
  instance_without_deployment: 'Instance without a deployment',
  missing_span: 'Missing usage time',
  unclosed_span: 'Usage time counted too long',
  overlapping_spans: 'Usage time counted twice',
  impossible_span: 'Invalid usage time',
  provider_disagrees: 'Differs from the payment processor',
  unsettled_usage: 'Not settled yet',
  missing_price: 'No price',
  unbalanced_ledger: 'Ledger totals differ',
}
