const maxLength = 500

/**
 * Shortens a delivery error to one line of at most 500 characters. Mail servers quote message content in
 * their errors, so URLs and possible tokens of links are redacted.
 */
export function sanitizeDeliveryError(reason: string): string {
  const line = reason
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/\S*:\/\/\S*/g, '[link]')
    .replaceAll(/[\w-]{32,}/g, '[…]')
    .trim()
  const characters = Array.from(line)
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}
