/** The credit of an organization that has not paid yet. */
export const trial = {
  trialCredit: 'Trial credit',
  creditLeft: (remaining: string, granted: string) => `${remaining} of ${granted} left`,
  creditRemaining: 'Trial credit left',
}
