/** Whose budget it is; `own` is the reader's. */
type Whose = 'organization' | 'team' | 'member' | 'own' | 'deployment'

/** What a blocking budget stops. */
const stops: Record<Whose, string> = {
  organization: 'nothing more can be deployed',
  team: 'its members can’t deploy anything more, nor call models of others',
  member: 'this member can’t deploy anything more, nor call models of others',
  own: 'you can’t deploy anything more, nor call models of others',
  deployment: 'this deployment can’t start',
}

/** What a budget stops and puts to sleep. */
const rests: Record<Whose, string> = {
  organization: 'nothing more can be deployed, and running deployments fall asleep',
  team: 'its members can’t deploy anything more, nor call models of others, and their running deployments fall asleep',
  member:
    'this member can’t deploy anything more, nor call models of others, and their running deployments fall asleep',
  own: 'you can’t deploy anything more, nor call models of others, and your running deployments fall asleep',
  deployment: 'this deployment falls asleep',
}

/** Who gets the emails. */
const recipients: Record<Whose, string> = {
  organization: 'admins get',
  team: 'admins and the team get',
  member: 'admins and the member get',
  own: 'you and the admins get',
  deployment: 'admins get',
}

export const budgets = {
  title: 'Budgets',
  add: 'Add budget',
  none: 'No budgets yet',
  noneHint:
    'A budget tells you when spending reaches 50, 80 and 100% of a limit, and can stop new deployments or put running ones to sleep.',
  ownHint: 'Limits of what you, your teams and your deployments may spend in this period.',
  manage: 'Manage budgets',
  names: {
    organization: () => 'The whole organization',
    team: (name: string) => `Team ${name}`,
    member: (name: string) => name,
    own: () => 'You',
    deployment: (model: string) => `Deployment of ${model}`,
  },
  spentOf: (spent: string, limit: string) => `${spent} of ${limit}`,
  spentShare: (share: string, name: string) => `${share} spent: ${name}`,
  forecast: (amount: string, day: string) => `Forecast: ${amount} by ${day}`,
  forecastPasses: 'Forecast passes the limit',
  exhausted: 'Limit reached',
  atLimit: {
    notify: (whose: Whose) => `At the limit, ${recipients[whose]} an email. Nothing stops.`,
    block: (whose: Whose) => `At the limit, ${stops[whose]}. Running deployments go on.`,
    sleep: (whose: Whose) => `At the limit, ${rests[whose]}. Requests don’t wake what sleeps.`,
  },
  afterLimit: {
    notify: () => 'Nothing stops: deployments go on, and usage is billed as before.',
    block: (whose: Whose, canRaise: boolean) =>
      `Until ${canRaise ? 'you raise' : 'an admin raises'} the limit or the period ends, ${stops[whose]}. Running deployments go on.`,
    sleep: (whose: Whose, canRaise: boolean) =>
      `Until ${canRaise ? 'you raise' : 'an admin raises'} the limit or the period ends, ${stops[whose]}. Sleeping deployments don’t wake up.`,
  },
  edit: 'Edit',
  remove: 'Delete',
  actionOn: (action: string, name: string) => `${action}: ${name}`,
  createTitle: 'Add a budget',
  editTitle: (name: string) => `Edit budget: ${name}`,
  emails: 'Emails go out at 50, 80 and 100% of the limit.',
  noEmails: 'This server sends no email. Pages say when 50, 80 and 100% of the limit are spent.',
  scope: 'For',
  scopes: { organization: 'Organization', team: 'Team', member: 'Member', deployment: 'Deployment' },
  team: 'Team',
  member: 'Member',
  deployment: 'Deployment',
  ofOwner: (model: string, owner: string) => `${model} · ${owner}`,
  limit: (currency: string) => `Limit for each billing period, in ${currency.toUpperCase()}`,
  action: 'At the limit',
  actions: {
    notify: 'Only send emails',
    block: 'Send emails and stop new deployments',
    sleep: 'Send emails, stop new deployments, put running ones to sleep',
  },
  /** On a server without mail */
  quietActions: {
    notify: 'Only say so',
    block: 'Stop new deployments',
    sleep: 'Stop new deployments, put running ones to sleep',
  },
  quietNotify: 'At the limit, nothing stops. Pages say that it is reached.',
  create: 'Add budget',
  save: 'Save',
  created: 'Added the budget.',
  saved: 'Saved the budget.',
  deleteTitle: (name: string) => `Delete budget: ${name}?`,
  deleteWords: 'Its limit and its emails end at once. Spending and invoices don’t change.',
  deleteConfirm: 'Delete budget',
  deleted: 'Deleted the budget.',
  noticeTitles: {
    organization: (percent: number) => `${percent}% of the organization’s budget is spent`,
    team: (percent: number, name: string) => `${percent}% of the budget of the team ${name} is spent`,
    member: (percent: number, name: string) => `${percent}% of the budget of ${name} is spent`,
    own: (percent: number) => `${percent}% of your budget is spent`,
    deployment: (percent: number, model: string) =>
      `${percent}% of the budget of a deployment is spent: ${model}`,
  },
}
