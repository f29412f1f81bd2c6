/** Texts of the settings of a deployment. */
export const deploymentSettings = {
  name: 'Name',
  sharing: 'Sharing',
  onlyOwner: (owner: string) => `Only ${owner} may call it.`,
  sharedWith: (organization: string) => `Every member of ${organization} may call it.`,
  endWords: 'The hardware is released, and requests fail. You cannot undo this.',
  saved: 'Saved.',
  nobodyCalled: 'Nobody called it in the last 30 days.',
  caller: (name: string, requests: string) => `${name} (${requests})`,
  calledBy: (callers: readonly string[], more: number) =>
    `Requests in the last 30 days: ${callers.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
}
