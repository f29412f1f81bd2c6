/** The command palette. */
export const palette = {
  /** What else people type to find it */
  signOutWords: 'log out logout',
  switchTo: (name: string) => `Switch to ${name}`,
  searchCommands: 'Search pages, settings, people, deployments and models',
  noCommand: 'Nothing found.',
  commandGroups: {
    recent: 'Recent',
    pages: 'Go to',
    actions: 'Actions',
    deployments: 'Deployments',
    members: 'Members',
    models: 'Models',
  },
  commandOn: (name: string, action: string) => `${name}: ${action}`,
  capacityWords: 'context tokens minimum memory size resize',
  deployModel: 'Deploy a model',
  invite: 'Invite a member',
  switchTheme: (theme: string) => `Theme: ${theme}`,
}
