/** Texts that few people see above a page. */
export const notices = {
  formerMember: (former: string, next: string) =>
    `You are no longer a member of ${former}. You are now in ${next}.`,
  verifyEmail: (email: string) =>
    `Verify your email to deploy models and invite people: open the link that we sent to ${email}.`,
  suspended: (name: string) =>
    `The operator of this server suspended ${name}. You can still look at everything, but not change anything or use models, and its deployments end soon. Ask the operator to resume it.`,
  closed: (name: string) =>
    `The operator of this server closed ${name}. You can still look at everything, but not change anything or use models.`,
  copiedDatabase:
    'This database was restored from a copy, and waits until the operator of this server says whether the original is gone. Until then, deployments don’t change, and no emails are sent.',
  sendAgain: 'Send it again',
  emailSent: 'We sent a new link.',
}
