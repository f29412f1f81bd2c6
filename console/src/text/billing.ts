const brands: Record<string, string> = {
  amex: 'American Express',
  cartes_bancaires: 'Cartes Bancaires',
  diners: 'Diners Club',
  discover: 'Discover',
  eftpos_au: 'Eftpos',
  jcb: 'JCB',
  mastercard: 'Mastercard',
  unionpay: 'UnionPay',
  visa: 'Visa',
}

export const billing = {
  title: 'Billing',
  description: 'How your organization pays, its cards and its invoices.',
  portal: 'Open billing portal',

  notAllowed: 'Billing is in the hands of your admins',
  notAllowedHint:
    'Ask an admin of your organization about cards, invoices and the plan. What is used and what it costs is open to everybody.',
  toUsage: 'See usage',
  toMembers: 'See who is an admin',

  plan: 'Plan',
  plans: { trial: 'Trial', postpaid: 'Pay as you go' },
  planWords: {
    trial: 'You use the trial’s credit; nothing is charged.',
    none: 'Activate billing to deploy models. You pay for what you use, at the end of each month.',
    charged: 'What you use is charged to your default card at the end of each period.',
    invoiced: 'What you use is put on an invoice at the end of each period, for you to pay by hand.',
    ended: 'The subscription has ended, and nothing new is charged.',
  },
  statuses: {
    active: 'Active',
    past_due: 'Payment late',
    suspended: 'Suspended',
    closed: 'Closed',
    ended: 'Ended',
  },
  activeDeployments: 'Active deployments',
  activeOf: (active: string, most: string) => `${active} of ${most}`,
  limitReached: 'The limit is reached',
  moreAfterActivation: 'More once billing is active',
  period: 'Current period',
  periodSpan: (from: string, to: string) => `${from} to ${to}`,
  estimate: 'Estimated so far',
  estimateLink: 'See usage',
  trialCredit: 'Trial credit',
  creditLeft: (remaining: string, granted: string) => `${remaining} of ${granted} left`,
  creditUsed: 'Trial credit used',

  notices: {
    past_due: {
      title: 'A payment is late',
      words: 'What runs goes on, but nothing new can be deployed until the open invoice is paid.',
    },
    suspended: {
      title: 'This account is suspended',
      words: 'Nothing new can be deployed. Ask whoever runs this server to lift it.',
    },
    closed: {
      title: 'This account is closed',
      words: 'Nothing new can be deployed. Ask whoever runs this server if that is a mistake.',
    },
    ended: {
      title: 'The subscription has ended',
      words: 'What runs goes on, but nothing new can be deployed until billing is activated again.',
    },
    exhausted: {
      title: 'The trial’s credit is used up',
      words: 'What runs goes on, but nothing new can be deployed until billing is activated.',
    },
    unactivated: {
      title: 'Billing is not active yet',
      words: 'There is no trial on this server: activate billing to deploy models.',
    },
  },
  payInvoice: 'Pay the invoice',

  activate: 'Activate billing',
  activateTitle: 'Activate billing',
  activateWords:
    'You pay for what you use, at the end of each month. You can have more deployments at a time.',
  chooseCard: 'Charge this card',
  needsCard: 'A card is needed that is charged each month. You enter it on the next page and come back here.',
  otherCard: 'Use another card',
  activated: 'Billing is active.',
  remedies: {
    card_declined: 'Choose another card, or add one.',
    authentication_required:
      'Your bank asks at every payment with this card. Choose or add one that may be charged without you.',
  },

  collection: 'How invoices are paid',
  collectionMethods: { charge_automatically: 'Charge the card', send_invoice: 'Send an invoice' },
  collectionWords: {
    charge_automatically: 'Each invoice is charged to the default card when it is made.',
    send_invoice: 'Each invoice is sent to be paid by hand within 30 days.',
  },
  change: 'Change',
  changeTo: {
    charge_automatically: 'Charge the card from now on?',
    send_invoice: 'Send invoices from now on?',
  },
  changeWords: {
    charge_automatically: 'The next invoices are charged to your default card by themselves.',
    send_invoice: 'The next invoices are no longer charged: somebody has to pay each by hand within 30 days.',
  },
  changeConfirm: { charge_automatically: 'Charge the card', send_invoice: 'Send invoices' },
  changed: {
    charge_automatically: 'Invoices are charged to the card from now on.',
    send_invoice: 'Invoices are sent from now on.',
  },

  cards: 'Cards',
  addCard: 'Add a card',
  noCards: 'No card is saved',
  noCardsHint: 'A card is needed to activate billing.',
  brand: (brand: string) => brands[brand] ?? brand,
  card: (brand: string, last4: string) => `${brand} •••• ${last4}`,
  cardSpoken: (brand: string, last4: string) => `${brand} ending in ${last4}`,
  expires: (month: string) => `Expires ${month}`,
  expired: (month: string) => `Expired ${month}`,
  expiredBadge: 'Expired',
  expiresSoon: 'Expires soon',
  defaultCard: 'Default',
  makeDefault: 'Make default',
  madeDefault: (card: string) => `${card} is the default now.`,
  remove: 'Remove',
  removeTitle: (card: string) => `Remove ${card}?`,
  removeWords: 'It is forgotten and can’t be charged any more. You can add it again at any time.',
  removeConfirm: 'Remove card',
  removed: (card: string) => `${card} was removed.`,
  actionOn: (action: string, card: string) => `${action}: ${card}`,
  cardSaved: (card: string) => `${card} was saved.`,
  waitingForCard: 'Waiting for the card you entered…',
  cardLate: 'The card you entered is not here yet',
  cardLateHint:
    'The payment processor has not told of it. Look again in a moment, or add the card once more.',
  lookAgain: 'Look again',

  checkoutTitle: 'Add a card',
  checkoutWords: 'The form is Stripe’s: the number of your card does not pass through this server.',
  checkoutUnavailable:
    'Stripe’s form could not be loaded. Check your connection, or whether something blocks js.stripe.com.',

  invoices: 'Invoices',
  noInvoices: 'No invoices yet',
  noInvoicesHint: 'The first one comes at the end of the first period that you pay for.',
  invoiceDate: 'Date',
  invoicePeriod: 'Period',
  invoiceStatus: 'Status',
  invoiceAmount: 'Amount',
  invoiceLinks: 'Links',
  invoiceStatuses: {
    open: 'To be paid',
    overdue: 'Overdue',
    paid: 'Paid',
    void: 'Void',
    uncollectible: 'Not collected',
    draft: 'Being made',
  } as Record<string, string>,
  due: (day: string) => `Due ${day}`,
  partlyPaid: (paid: string) => `${paid} paid`,
  view: 'View',
  pay: 'Pay',
  pdf: 'PDF',
  ofInvoice: (action: string, day: string) => `${action}: invoice of ${day}`,
}
