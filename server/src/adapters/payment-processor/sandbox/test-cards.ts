import type { Stripe } from 'stripe'

/** A card that stands for one way in which paying can go; its numbers are Stripe's own test numbers. */
export interface TestCard {
  number: string
  /** Identifies the number without being it: what the sandbox keeps */
  fingerprint: string
  brand: 'visa' | 'mastercard'
  /** What happens with it, for the person who picks it */
  title: string
  /** `asks`: its owner must consent when it is saved */
  setup: 'succeeds' | 'declines' | 'asks'
  /** What a charge without its owner does; `needs_setup`: succeeds once its owner consented at saving */
  charge: 'succeeds' | 'declines' | 'needs_setup' | 'asks'
  /** Ready-made payment methods of the API that stand for it */
  tokens: string[]
}

export const testCards: readonly TestCard[] = [
  {
    number: '4242424242424242',
    fingerprint: 'sandboxVisa4242',
    brand: 'visa',
    title: 'Works',
    setup: 'succeeds',
    charge: 'succeeds',
    tokens: ['pm_card_visa', 'tok_visa'],
  },
  {
    number: '5555555555554444',
    fingerprint: 'sandboxMastercard4444',
    brand: 'mastercard',
    title: 'Works too',
    setup: 'succeeds',
    charge: 'succeeds',
    tokens: ['pm_card_mastercard', 'tok_mastercard'],
  },
  {
    number: '4000000000000002',
    fingerprint: 'sandboxVisa0002',
    brand: 'visa',
    title: 'Is declined',
    setup: 'declines',
    charge: 'declines',
    tokens: ['pm_card_chargeDeclined', 'pm_card_visa_chargeDeclined', 'tok_chargeDeclined'],
  },
  {
    number: '4000002500003155',
    fingerprint: 'sandboxVisa3155',
    brand: 'visa',
    title: 'Asks its owner when it is saved',
    setup: 'asks',
    charge: 'needs_setup',
    tokens: ['pm_card_authenticationRequiredOnSetup', 'tok_threeDSecureRequiredOnSetup'],
  },
  {
    number: '4000002760003184',
    fingerprint: 'sandboxVisa3184',
    brand: 'visa',
    title: 'Asks its owner at every payment',
    setup: 'asks',
    charge: 'asks',
    tokens: ['pm_card_authenticationRequired', 'tok_threeDSecure2Required'],
  },
  {
    number: '4000000000000341',
    fingerprint: 'sandboxVisa0341',
    brand: 'visa',
    title: 'Is saved, and fails at the next invoice',
    setup: 'succeeds',
    charge: 'declines',
    tokens: ['pm_card_chargeCustomerFail', 'tok_chargeCustomerFail'],
  },
]

export function findCardByToken(token: string): TestCard | null {
  return testCards.find(({ tokens }) => tokens.includes(token)) ?? null
}

export function findCardByNumber(number: string): TestCard | null {
  return testCards.find((card) => card.number === number) ?? null
}

/** The test card that a payment method was made from. */
export function testCardOf(method: Stripe.PaymentMethod): TestCard {
  const card = testCards.find(({ fingerprint }) => fingerprint === method.card?.fingerprint)
  if (card === undefined) throw new Error(`${method.id} is no test card`)
  return card
}

/** Luhn's checksum (ISO/IEC 7812-1, annex B), which tells a mistyped number from one that isn't a test card. */
export function isPlausibleNumber(number: string): boolean {
  if (!/^\d{12,19}$/.test(number)) return false
  const sum = number
    .split('')
    .toReversed()
    .reduce((total, character, index) => {
      const digit = Number(character) * (index % 2 === 0 ? 1 : 2)
      return total + (digit > 9 ? digit - 9 : digit)
    }, 0)
  return sum % 10 === 0
}
