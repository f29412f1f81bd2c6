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
  sendAgain: 'Send it again',
  emailSent: 'We sent a new link.',
}
