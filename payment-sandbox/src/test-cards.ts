import type { PaymentMethod } from './object-types.ts'

/** A card that simulates one outcome; the numbers are Stripe's test numbers (docs.stripe.com/testing). */
export interface TestCard {
  number: string
  /** Identifies the card in stored objects, which never contain the number */
  fingerprint: string
  brand: 'visa' | 'mastercard'
  /** The outcome, for the person who picks a card */
  title: string
  /** Outcome of saving it; `asks`: the bank must approve first */
  setup: 'succeeds' | 'declines' | 'asks'
  /** Outcome of a charge without its owner; `needs_setup`: succeeds if the bank approved at saving */
  charge: 'succeeds' | 'declines' | 'needs_setup' | 'asks'
  /** Id of a payment method that the API accepts in place of the card */
  token: string
}

export const testCards: readonly TestCard[] = [
  {
    number: '4242424242424242',
    fingerprint: 'sandboxVisa4242',
    brand: 'visa',
    title: 'Succeeds',
    setup: 'succeeds',
    charge: 'succeeds',
    token: 'pm_card_visa',
  },
  {
    number: '5555555555554444',
    fingerprint: 'sandboxMastercard4444',
    brand: 'mastercard',
    title: 'Succeeds',
    setup: 'succeeds',
    charge: 'succeeds',
    token: 'pm_card_mastercard',
  },
  {
    number: '4000000000000002',
    fingerprint: 'sandboxVisa0002',
    brand: 'visa',
    title: 'Declined',
    setup: 'declines',
    charge: 'declines',
    token: 'pm_card_chargeDeclined',
  },
  {
    number: '4000002500003155',
    fingerprint: 'sandboxVisa3155',
    brand: 'visa',
    title: 'Bank verification when saved',
    setup: 'asks',
    charge: 'needs_setup',
    token: 'pm_card_authenticationRequiredOnSetup',
  },
  {
    number: '4000002760003184',
    fingerprint: 'sandboxVisa3184',
    brand: 'visa',
    title: 'Bank verification for every payment',
    setup: 'asks',
    charge: 'asks',
    token: 'pm_card_authenticationRequired',
  },
  {
    number: '4000000000000341',
    fingerprint: 'sandboxVisa0341',
    brand: 'visa',
    title: 'Can be saved, then declined at the next invoice',
    setup: 'succeeds',
    charge: 'declines',
    token: 'pm_card_chargeCustomerFail',
  },
]

export function findCardByToken(token: string): TestCard | null {
  return testCards.find((card) => card.token === token) ?? null
}

export function findCardByNumber(number: string): TestCard | null {
  return testCards.find((card) => card.number === number) ?? null
}

/** The test card that a payment method was created from. */
export function testCardOf({ id, card: { fingerprint } }: PaymentMethod): TestCard {
  const card = testCards.find((each) => each.fingerprint === fingerprint)
  if (card === undefined) throw new Error(`${id} is not a test card`)
  return card
}

/** Luhn's checksum (ISO/IEC 7812-1, annex B): tells a mistyped number from a card that is no test card. */
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
