/** Texts of the list of deployments when it is empty, and of what the team shares then. */
export const emptyList = {
  firstRunTitle: 'Deploy your first model',
  firstRun:
    'A deployment runs a model from the catalog, and any OpenAI client can call it. Start with a small model: it is ready within seconds.',
  firstRunViewerTitle: 'Nothing is shared with you yet',
  firstRunViewer:
    'Your role can call models that others share, but not deploy any. Ask a colleague to share one, or an admin for another role.',
  deployOwn: 'Or deploy a model of your own.',
  deployAny: 'Deploy',
  deployStarter: (model: string) => `Deploy ${model}`,
  browseCatalog: 'Browse the catalog',
  noneActiveTitle: 'No current deployments',
  noneActive: 'Terminated deployments are under All.',
  showAll: 'Show all',
  noMatchTitle: 'No deployment matches',
  noMatch: 'Nothing in this list has that name, owner, id or status.',
  clearFilters: 'Clear filters',
  emptyPageTitle: 'This page is empty',
  emptyPage: 'There are fewer deployments now.',
  firstPage: 'Go to the first page',

  sharesTitle: (count: number) =>
    count === 1 ? 'Your team shares 1 model' : `Your team shares ${count} models`,
  sharesNote: 'You can use it right away. Your organization pays for it already.',
  chat: 'Chat',
  tryIt: 'Try it',
  chatWith: (name: string) => `Chat with ${name}`,
  tryModel: (name: string) => `Try it: ${name}`,
  snippet: 'curl code',
  otherSamples: 'Other languages and clients',
  call: 'API',
  callOf: (name: string) => `Call ${name} with the API`,
  noneTeamTitle: 'No current deployments in this organization',
  noneTeam: 'Deployments of all members appear here.',
  noneSharedTitle: 'No shared deployments',
  noneShared: 'Owners and admins share a deployment on its page. You can call it then.',
}
