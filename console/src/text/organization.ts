import type { Invitation } from '../contract.ts'

export const organization = {
  tabs: {
    people: 'People',
    programs: 'Programs',
    teams: 'Teams',
    endpoints: 'Endpoints',
    invitations: 'Invitations',
    settings: 'Settings',
    audit: 'Audit log',
  },
  /** What else people type to find the tabs of people and programs */
  peopleWords: 'members users colleagues',
  programWords: 'service members passwords networks',

  name: 'Name',
  role: 'Role',
  you: 'You',
  actions: 'Actions',
  actionsFor: (name: string) => `Actions for ${name}`,
  changeRole: 'Change role',
  changeRoleOf: (name: string) => `Change the role of ${name}`,
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}?`,
  removeDescription: (organization: string) =>
    `They lose access to ${organization} at once. Their account remains, and you can invite them again.`,
  removed: (name: string) => `${name} was removed.`,
  leave: 'Leave',
  leaveTitle: (organization: string) => `Leave ${organization}?`,
  leaveDescription: 'You lose access at once. Its admins can invite you again.',
  deploymentsActive: (count: number) =>
    count === 1
      ? 'This deployment is active. Choose what happens to it.'
      : `These ${count} deployments are active. Choose what happens to them.`,
  deploymentsChoice: 'Deployments',
  endDeployments: (count: number) => (count === 1 ? 'Terminate it' : `Terminate all ${count}`),
  transferDeployments: (count: number) =>
    count === 1 ? 'Transfer it to a colleague' : `Transfer all ${count} to a colleague`,
  recipient: 'Colleague',
  searchRecipient: 'Search name or email',
  noRecipient: 'Nobody else with that name or email can receive them.',
  chooseRecipient: 'Choose who receives them. Viewers can’t.',
  transfersTo: (count: number, name: string) =>
    count === 1 ? `${name} receives the deployment.` : `${name} receives the ${count} deployments.`,

  invite: 'Invite',
  inviteTitle: 'Invite members',
  inviteDescription: 'Each gets an email with a link that is valid for 7 days.',
  inviteDescriptionFile:
    'This server sends no email. Afterwards, copy each link from the list and pass it on. It is valid for 7 days.',
  emails: 'Emails',
  emailsHint: 'One per line, or separated by commas.',
  noEmails: 'Enter an email.',
  results: 'Results',
  invited: { file: 'Created', mail: 'Sent' },
  sendInvitation: 'Send invitations',
  createInvitation: 'Create invitations',
  createdMany: (count: number) => `${count} invitations created. Copy each link to pass it on.`,
  sentMany: (count: number) => `${count} invitations sent.`,
  createdFor: (email: string) => `Invitation for ${email} created. Copy its link to pass it on.`,
  copyLink: 'Copy link',
  copyLinkFor: (email: string) => `Copy link for ${email}`,
  copiedLink: (email: string) => `Copied. The link is only for ${email}.`,
  notEmailed: 'Not emailed.',
  mailWritten: 'Not emailed: this server has no mail server. Copy the link and pass it on.',
  sentTo: (email: string) => `Invitation sent to ${email}.`,
  seeMember: 'See member',
  seeMembers: 'See members',
  roles: {
    super_admin: 'Like an admin, and manages admins.',
    admin: 'Like a member, and manages people, billing and the organization.',
    member: 'Deploys, uses and terminates models.',
    viewer: 'Calls models that others share, and sees the catalog, members and usage. Cannot deploy.',
  },

  noInvitations: 'No invitations',
  noInvitationsHint: 'Invite your teammates and choose a role for each.',
  statuses: {
    pending: 'Pending',
    accepted: 'Accepted',
    rejected: 'Declined',
    expired: 'Expired',
    cancelled: 'Cancelled',
  } satisfies Record<Invitation['status'], string>,
  invitedBy: (role: string, when: string, by: string | undefined) =>
    by ? `${role}, invited ${when} by ${by}` : `${role}, invited ${when}`,
  expires: (when: string) => `The link expires ${when}.`,
  expired: (when: string) => `The link expired ${when}.`,
  answered: (when: string) => `Answered ${when}.`,
  mailPending: 'Sending the email.',
  mailSent: (when: string) => `Email sent ${when}.`,
  mailFailed: 'The email could not be sent.',
  resending: {
    button: 'Send again',
    buttonFor: (email: string) => `Send again to ${email}`,
    done: (email: string) => `Sent again to ${email}. The previous link no longer works.`,
  },
  /** The same without a mail server */
  renewal: {
    button: 'Renew link',
    buttonFor: (email: string) => `Renew link for ${email}`,
    done: (email: string) => `New link for ${email}. The previous link no longer works.`,
  },

  cancelInvitation: 'Cancel invitation',
  cancelInvitationTo: (email: string) => `Cancel the invitation to ${email}`,
  invitationCancelled: (email: string) =>
    `The invitation to ${email} was cancelled. Its link no longer works.`,

  settings: 'Organization settings',
  readOnly: 'Only admins can change these settings.',
  description: 'Description',
  descriptionHint: 'Visible to members.',
  noDescription: 'None',
  slug: 'Slug',
  slugHint: 'Identifies the organization in the API. It never changes.',
  created: 'Created',
  status: 'Status',
  organizationStatus: { active: 'Active', suspended: 'Suspended', closed: 'Closed' },
}
