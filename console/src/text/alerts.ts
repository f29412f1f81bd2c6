export const alerts = {
  title: 'Alerts',
  description:
    'Your webhook hears when a budget reaches 50, 80 or 100 percent, a deployment fails, is lost or recovers, or capacity is refused.',
  none: 'No webhook is set.',
  set: 'Set a webhook',
  url: 'URL',
  lastAlert: 'Last alert',
  noAlert: 'None yet',
  /** By type; the API may send types that the console does not know */
  types: {
    'budget.reached': {
      name: 'Budget reached',
      meaning: 'A budget has reached 50, 80 or 100 percent of its limit.',
    },
    'deployment.failed': { name: 'Deployment failed', meaning: 'A deployment has failed.' },
    'deployment.lost': {
      name: 'Deployment lost',
      meaning: 'A deployment has lost its last instance. Berth starts it again.',
    },
    'deployment.recovered': {
      name: 'Deployment recovered',
      meaning: 'A deployment that was lost has served for ten minutes again.',
    },
    'capacity.refused': {
      name: 'Capacity refused',
      meaning: 'The compute backend has refused an instance, for lack of capacity or quota.',
    },
    'webhook.test': { name: 'Test alert', meaning: 'An admin has sent a test alert.' },
  } as Record<string, { name: string; meaning: string }>,
  statuses: { pending: 'Sending', retrying: 'Retrying', delivered: 'Delivered', failed: 'Failed' },
  caused: (name: string, when: string) => `${name}, ${when}`,

  test: 'Send a test alert',
  change: 'Change URL',
  replace: 'Replace secret',
  delete: 'Delete webhook',

  format: 'How to verify alerts',
  formatTitle: 'What arrives, and how to verify it',
  body: 'Each alert is a POST of JSON: {type, timestamp, data}. The types are:',
  signature:
    'Alerts are signed with your secret in the format of Standard Webhooks: the headers are webhook-id, webhook-timestamp and webhook-signature.',
  libraries: 'Libraries that verify them',
  response:
    'Respond with 2xx within ten seconds. After any other response, Berth tries again for three days; 410 ends the attempts. Every attempt has the same webhook-id, so ignore an id that you know.',

  setDescription: 'Each alert is sent to this URL as signed JSON.',
  urlHint:
    'An https address. Loopback, private, link-local and metadata addresses are refused, unless the operator allows their network. Redirects are not followed.',
  save: 'Save',
  saved: 'The URL was changed. The secret stays the same.',

  copyTitle: 'Copy the signing secret',
  copyDescription:
    'It is not shown again. Your receiver verifies with it that an alert is from this server, so keep it secret.',
  secret: 'Signing secret',
  done: 'I have copied it',

  replaceTitle: 'Replace the signing secret?',
  replaceDescription:
    'The current secret signs nothing from then on. Alerts that your receiver refuses until it has the new one are sent again for three days.',

  deleteTitle: 'Delete the webhook?',
  deleteDescription:
    'No more alerts are sent to it, and those that were not delivered yet are dropped. A webhook that you set later has another secret.',
  deleted: 'The webhook was deleted.',
}
