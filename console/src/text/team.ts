/** Texts of deployments that belong to several members. */
export const team = {
  description: {
    all: 'All deployments of your organization and their status.',
    shared: 'The models that others share with you.',
  },
  whose: 'Whose deployments',
  own: 'Yours',
  team: 'Team',
  ownedBy: (name: string) => `Owner: ${name}`,
  ownedByYou: 'Owner: you',
  shared: 'Shared',
  sharedInState: (state: string) => `Shared · ${state}`,
  sharesTitle: (count: number) =>
    count === 1 ? 'Your team shares 1 model' : `Your team shares ${count} models`,
  sharesNote: 'You can use it right away. Your organization pays for it already.',
  chat: 'Chat',
  tryIt: 'Try it',
  chatWith: (name: string) => `Open ${name} in the playground`,
  call: 'API',
  callOf: (name: string) => `Call ${name} with the API`,
  noneTeamTitle: 'No current deployments in this organization',
  noneTeam: 'Deployments of all members appear here.',
  noneSharedTitle: 'No shared deployments',
  noneShared: 'Owners and admins share a deployment on its page. You can call it then.',
}
