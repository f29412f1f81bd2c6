type Scope = 'organization' | 'member' | 'deployment'

/** What a blocking budget stops. */
const stops: Record<Scope, string> = {
  organization: 'nothing more can be deployed',
  member: 'this member can’t deploy anything more',
  deployment: 'this deployment gets no new instance',
}

export const budgets = {
  title: 'Budgets',
  description: 'Limits of what may be spent in a billing period.',
  add: 'Add budget',
  none: 'No budgets yet',
  noneHint:
    'A budget tells you by email when spending reaches 50, 80 and 100% of a limit, and can stop new deployments.',
  scopes: { organization: 'Organization', member: 'Member', deployment: 'Deployment' },
  wholeOrganization: 'The whole organization',
  formerMember: 'Former member',
  ofDeployment: (model: string) => `Deployment of ${model}`,
  spentOf: (spent: string, limit: string) => `${spent} of ${limit}`,
  spentShare: (share: string, name: string) => `${share} spent: ${name}`,
  forecast: (amount: string, day: string) => `Forecast: ${amount} by ${day}`,
  forecastPasses: 'Forecast passes the limit',
  exhausted: 'Limit reached',
  before: {
    notify: () => 'At the limit, admins get an email. Nothing stops.',
    block: (scope: Scope) => `At the limit, ${stops[scope]}. Running deployments go on.`,
  },
  after: {
    notify: () => 'Nothing stops: deployments go on, and usage is billed as before.',
    block: (scope: Scope) =>
      `Until you raise the limit or the period ends, ${stops[scope]}. Running deployments go on.`,
  },
  edit: 'Edit',
  remove: 'Delete',
  actionOn: (action: string, name: string) => `${action}: ${name}`,
  createTitle: 'Add a budget',
  editTitle: (name: string) => `Edit budget: ${name}`,
  scope: 'For',
  member: 'Member',
  deployment: 'Deployment',
  limit: (currency: string) => `Limit for each billing period, in ${currency.toUpperCase()}`,
  atLimit: 'At the limit',
  actions: {
    notify: 'Only send emails',
    block: 'Send emails and stop new deployments',
  },
  create: 'Add budget',
  save: 'Save',
  created: 'Added the budget.',
  saved: 'Saved the budget.',
  deleteTitle: (name: string) => `Delete budget: ${name}?`,
  deleteWords: 'Its limit and its emails end at once. Spending and invoices don’t change.',
  deleteConfirm: 'Delete budget',
  deleted: 'Deleted the budget.',
  noticeTitle: (percent: number, name: string) => `${percent}% of a budget is spent: ${name}`,
}
