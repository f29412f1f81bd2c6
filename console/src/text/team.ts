/** Texts of deployments that belong to several members. */
export const team = {
  description: {
    all: 'All deployments of your organization and their status.',
    shared: 'The models that others share with you.',
  },
  whose: 'Whose deployments',
  callable: 'For you',
  own: 'Yours',
  team: 'Team',
  ownedBy: (name: string) => `Owner: ${name}`,
  shared: 'Shared',
  sharedInState: (state: string) => `Shared · ${state}`,
}
