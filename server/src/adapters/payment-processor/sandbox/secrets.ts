import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SandboxObject } from './store.ts'

/**
 * Pages are reached by secrets that are computed from an object's id, never stored: `<id>_secret_<mac>`, Stripe's own shape of
 * a client secret. Whoever has one may do what its page offers.
 */
export interface PageSecrets {
  make(id: string): string
  /** The id in a secret, or null for what is none */
  read(secret: string): string | null
}

export function createPageSecrets(key: string): PageSecrets {
  const mac = (id: string) => createHmac('sha256', key).update(id).digest('base64url')
  return {
    make: (id) => `${id}_secret_${mac(id)}`,
    read(secret) {
      const at = secret.indexOf('_secret_')
      if (at < 0) return null
      const id = secret.slice(0, at)
      const given = Buffer.from(secret.slice(at + '_secret_'.length))
      const right = Buffer.from(mac(id))
      return given.length === right.length && timingSafeEqual(given, right) ? id : null
    },
  }
}

/** Derives a key for one purpose from the server's own. */
export function deriveKey(secretKey: string, purpose: string): string {
  return createHmac('sha256', secretKey).update(`payment sandbox: ${purpose}`).digest('hex')
}

export interface Addresses {
  checkout(id: string): string
  portal(id: string): string
  invoice(id: string): string
}

/** Where people reach the sandbox's pages, `base` being `PUBLIC_URL/sandbox/billing`. */
export function createAddresses(base: string, secrets: PageSecrets): Addresses {
  return {
    checkout: (id) => `${base}/checkout/${secrets.make(id)}`,
    portal: (id) => `${base}/portal/${secrets.make(id)}`,
    invoice: (id) => `${base}/invoices/${secrets.make(id)}`,
  }
}

/** An object as it is answered: with the secrets and addresses that it is stored without. */
export function present<T extends object>(object: T, secrets: PageSecrets, addresses: Addresses): T {
  const known = object as unknown as SandboxObject
  switch (known.object) {
    case 'checkout.session':
      return { ...object, client_secret: known.status === 'open' ? secrets.make(known.id) : null }
    case 'setup_intent':
      return { ...object, client_secret: secrets.make(known.id) }
    case 'billing_portal.session':
      return { ...object, url: addresses.portal(known.id) }
    case 'invoice': {
      if (known.status === 'draft') return object
      const url = addresses.invoice(known.id)
      return { ...object, hosted_invoice_url: url, invoice_pdf: `${url}/pdf` }
    }
    default:
      return object
  }
}
