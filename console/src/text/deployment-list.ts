/** Texts of the list of deployments only. */
export const deploymentList = {
  sort: 'Sort',
  sorts: {
    newest: 'Newest first',
    name: 'By name',
    status: 'By status',
    '-requests': 'Most requests',
    '-cost': 'Highest cost',
  },
  requests: 'Requests, 24 h',
  errors: (count: string) => `${count} errors`,
  firstToken: (duration: string) => `p95 ${duration}`,
  firstTokenWords: '95 % of the requests had their first token within this time',
  cost: 'Cost',
  thisMonth: (cost: string) => `${cost} this month`,
  owner: 'Owner',
  you: 'You',
  lastUsed: (when: string) => `Used ${when}`,
  neverUsed: 'Never used',
}
