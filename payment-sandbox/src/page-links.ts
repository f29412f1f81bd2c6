import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Links to the pages. Each contains a secret, `<id>_secret_<mac>`, in the form of Stripe's client secrets.
 * The secret is computed from the object's id, never stored, and grants everything that the page offers.
 */
export interface PageLinks {
  makeSecret(id: string): string
  /** The id in a secret, or null if the secret is invalid */
  readSecret(secret: string): string | null
  checkout(id: string): string
  portal(id: string): string
  invoice(id: string): string
}

/** `base`: URL of the pages, without a slash at its end. */
export function createPageLinks(base: string, key: string): PageLinks {
  const makeSecret = (id: string) =>
    `${id}_secret_${createHmac('sha256', key).update(id).digest('base64url')}`
  return {
    makeSecret,
    readSecret(secret) {
      const [id = ''] = secret.split('_secret_', 1)
      const expected = Buffer.from(makeSecret(id))
      const actual = Buffer.from(secret)
      return actual.length === expected.length && timingSafeEqual(actual, expected) ? id : null
    },
    checkout: (id) => `${base}/checkout/${makeSecret(id)}`,
    portal: (id) => `${base}/portal/${makeSecret(id)}`,
    invoice: (id) => `${base}/invoices/${makeSecret(id)}`,
  }
}
