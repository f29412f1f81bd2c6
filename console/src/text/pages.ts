/** Page headings, also for the navigation. The build writes those with a description into first views. */
export const pages = {
  deployments: { title: 'Deployments', description: 'The models that you can call, and their status.' },
  catalog: { title: 'Catalog', description: 'Open models you can deploy, with their hardware and price.' },
  playground: { title: 'Playground' },
  usage: { title: 'Usage', description: 'Your organization’s usage and cost. Days are in UTC.' },
  billing: { title: 'Billing', description: 'Your plan, cards and invoices.' },
  budgets: { title: 'Budgets', description: 'What people and deployments may cost.' },
  organization: { title: 'Organization' },
  profile: { title: 'Your account' },
}
