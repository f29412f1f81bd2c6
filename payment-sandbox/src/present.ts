import type { SandboxObject } from './object-types.ts'
import type { PageLinks } from './page-links.ts'

/** Adds the secrets and page URLs, which are not stored with the object. */
export function present<T extends object>(object: T, links: PageLinks): T {
  const known = object as unknown as SandboxObject
  switch (known.object) {
    case 'checkout.session':
      return { ...object, client_secret: known.status === 'open' ? links.makeSecret(known.id) : null }
    case 'billing_portal.session':
      return { ...object, url: links.portal(known.id) }
    case 'invoice': {
      if (known.status === 'draft') return object
      const url = links.invoice(known.id)
      // The sandbox makes no PDF; browsers print the page into one.
      return { ...object, hosted_invoice_url: url, invoice_pdf: url }
    }
    default:
      return object
  }
}
