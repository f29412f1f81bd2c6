import { z } from 'zod'
import { readYamlFile, toMistakes, yamlText } from '../../base/yaml-file.ts'
import type { Mistake } from '../../base/yaml-file.ts'
import { isWholeHour } from './hours.ts'
import { meterNames, meters } from '../../base/meters.ts'
import type { Meter, MeterName } from '../../base/meters.ts'
import { specificity } from './prices.ts'
import type { Price } from '../../base/price.ts'

const text = yamlText.max(200, 'must have at most 200 characters')

const wholeHour = z.iso
  .datetime('must be a UTC time such as 2026-01-01T00:00:00Z')
  .transform((moment) => new Date(moment))
  .refine(isWholeHour, 'must be a whole hour')

const priceSchema = z
  .strictObject({
    meter: z.enum(meterNames, `must be one of ${meterNames.join(', ')}`),
    dimensions: z.record(z.string(), text).default({}),
    display_name: text,
    unit_amount: z
      .string('must be a decimal in quotes')
      .regex(
        /^\d{1,6}(\.\d{1,12})?$/,
        'must be a decimal such as "0.0003", with at most 6 digits and 12 decimal places',
      ),
    currency: z.string().regex(/^[a-z]{3}$/, 'must be a lowercase currency code such as usd'),
    valid_from: wholeHour,
    valid_until: wholeHour.optional(),
  })
  .superRefine((price, context) => {
    const { dimensions: names }: Meter = meters[price.meter]
    for (const name of Object.keys(price.dimensions)) {
      if (names.includes(name)) continue
      const message = `is not a dimension of ${price.meter}, which has ${names.join(', ')}`
      context.addIssue({ code: 'custom', path: ['dimensions', name], message })
    }
    for (const [placeholder, name = ''] of price.display_name.matchAll(/\{(\w+)\}/g)) {
      if (names.includes(name)) continue
      const message = `${placeholder} is not a dimension of ${price.meter}, which has ${names.join(', ')}`
      context.addIssue({ code: 'custom', path: ['display_name'], message })
    }
    if (price.valid_until !== undefined && price.valid_until <= price.valid_from) {
      context.addIssue({ code: 'custom', path: ['valid_until'], message: 'must be later than valid_from' })
    }
  })

const documentSchema = z.strictObject({ prices: z.array(z.unknown()) })

/**
 * Reads a price file. Throws one Error with every mistake and its line, including a currency other than
 * `currency`, ambiguous prices and usage without a price.
 */
export function readPricesFile(path: string, currency: string): Price[] {
  return readYamlFile(path, 'price', (content) => {
    const document = documentSchema.safeParse(content)
    if (!document.success) return { value: [], mistakes: toMistakes(document.error, []) }
    const prices: { price: Price; index: number }[] = []
    const mistakes: Mistake[] = []
    for (const [index, entry] of document.data.prices.entries()) {
      const parsed = priceSchema.safeParse(entry)
      if (!parsed.success) {
        mistakes.push(...toMistakes(parsed.error, ['prices', index]))
        continue
      }
      const price = toPrice(parsed.data)
      const rival = prices.find((other) => areRivals(price, other.price))
      if (rival !== undefined) {
        const message = `matches the same usage at the same time as prices[${rival.index}]`
        mistakes.push({ path: ['prices', index], message })
      }
      if (price.currency !== currency) {
        const message = `must be ${currency}, the currency of the instance type file`
        mistakes.push({ path: ['prices', index, 'currency'], message })
      }
      prices.push({ price, index })
    }
    const value = prices.map(({ price }) => price)
    if (mistakes.length === 0) mistakes.push(...meterNames.flatMap((meter) => findGaps(value, meter)))
    return { value, mistakes }
  })
}

function toPrice(entry: z.output<typeof priceSchema>): Price {
  return {
    meter: entry.meter,
    dimensions: entry.dimensions,
    displayName: entry.display_name,
    unitAmount: entry.unit_amount,
    currency: entry.currency,
    validFrom: entry.valid_from,
    validUntil: entry.valid_until ?? null,
  }
}

/** True when some usage could match both prices equally well at the same time. */
function areRivals(one: Price, other: Price): boolean {
  const sharesTime =
    (other.validUntil === null || one.validFrom < other.validUntil) &&
    (one.validUntil === null || other.validFrom < one.validUntil)
  return (
    one.meter === other.meter &&
    sharesTime &&
    specificity(one) === specificity(other) &&
    Object.entries(one.dimensions).every(([name, value]) => (other.dimensions[name] ?? value) === value)
  )
}

/** Default prices (no dimensions) must have no gap after the first, unless another meter's price applies. */
function findGaps(prices: readonly Price[], meter: MeterName): Mistake[] {
  const { defaultPrice }: Meter = meters[meter]
  if (defaultPrice !== undefined) return []
  const path = ['prices']
  const general = prices
    .filter((price) => price.meter === meter && specificity(price) === 0)
    .toSorted((one, other) => one.validFrom.getTime() - other.validFrom.getTime())
  if (general.length === 0) return [{ path, message: `${meter} needs a price without dimensions` }]
  return general.flatMap(({ validUntil }, index) => {
    const next = general[index + 1]?.validFrom.getTime()
    if (validUntil?.getTime() === next) return []
    return [
      { path, message: `${meter} has no price without dimensions from ${validUntil?.toISOString()} on` },
    ]
  })
}
