import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readPricesFile } from './prices-file.ts'
import { findPrice, listMeteredPrices } from './prices.ts'

const folder = mkdtempSync(join(tmpdir(), 'prices-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const tokens = ['input', 'output']
  .map(
    (direction) => `
  - { meter: inference_${direction}_tokens, display_name: Tokens, unit_amount: "0", currency: usd, valid_from: 2000-01-01T00:00:00Z }`,
  )
  .join('')

/** Reads a price file with one instance price per argument, plus the token prices. */
function read(...rows: string[]) {
  const path = join(folder, 'prices.yaml')
  const instances = rows.map((row) => `\n  - { meter: gpu_instance_seconds, ${row} }`).join('')
  writeFileSync(path, `prices:${instances}${tokens}\n`)
  return readPricesFile(path, 'usd')
}

const named = 'display_name: Instance, unit_amount: "0.5", currency: usd'
const general = `${named}, valid_from: 2026-01-01T00:00:00Z`

describe('the bundled price file', () => {
  const prices = readPricesFile(resolve(import.meta.dirname, '../../../../catalog/prices.yaml'), 'usd')
  const at = new Date('2026-06-01T00:00:00Z')

  test('the local CPU costs 0.00001 per second, tokens are free, every instance has a price', () => {
    const amount = (meter: Parameters<typeof findPrice>[1], dimensions: Record<string, string>) =>
      findPrice(prices, meter, dimensions, at).unit?.amount
    expect(amount('gpu_instance_seconds', { instance_type: 'local-cpu', region: 'local' })).toBe('0.00001')
    expect(Number(amount('gpu_instance_seconds', { instance_type: 'any', region: 'any' }))).toBeGreaterThan(0)
    expect(amount('inference_input_tokens', { model_name: 'any' })).toBe('0')
    expect(amount('inference_output_tokens', { model_name: 'any' })).toBe('0')
    // The price of the input
    expect(amount('inference_cached_tokens', { model_name: 'any' })).toBe('0')
  })

  test('the prices of local instances are published, free prices are not', () => {
    expect(listMeteredPrices(prices, at)).toEqual([
      {
        key: 'gpu_instance_seconds.local-cpu.local.0.00001-usd',
        displayName: "This server's CPU",
        unitAmountDecimal: '0.00001',
        currency: 'usd',
      },
      {
        key: 'gpu_instance_seconds.local-gpu.local.0.0003-usd',
        displayName: "This server's GPU",
        unitAmountDecimal: '0.0003',
        currency: 'usd',
      },
    ])
  })
})

describe('mistakes are reported with their line', () => {
  test.each([
    [
      'a number for an amount',
      general.replace('"0.5"', '0.5'),
      /line 2, .*unit_amount: must be a decimal in quotes/,
    ],
    ['a negative amount', general.replace('"0.5"', '"-1"'), /must be a decimal such as/],
    ['an exponent', general.replace('"0.5"', '"1e-5"'), /must be a decimal such as/],
    ['13 decimals', general.replace('"0.5"', '"0.0000000000001"'), /must be a decimal such as/],
    [
      'another currency',
      general.replace('usd', 'eur'),
      /prices\[0\].currency: must be usd, the currency of the instance type file/,
    ],
    ['half an hour', general.replace('00:00:00Z', '00:30:00Z'), /valid_from: must be a whole hour/],
    ['a time without a zone', general.replace('00:00:00Z', '00:00:00'), /valid_from: must be a UTC time/],
    [
      'an end before the beginning',
      `${general}, valid_until: 2025-01-01T00:00:00Z`,
      /must be later than valid_from/,
    ],
    [
      'a dimension of another meter',
      `${general}, dimensions: { model_name: a }`,
      /is not a dimension of gpu_instance_seconds/,
    ],
    [
      'a name with another dimension',
      general.replace('Instance', '"{model_name}"'),
      /display_name: \{model_name\} is not/,
    ],
    ['an unknown field', `${general}, price: 1`, /price: is not a known field/],
    [
      'an end without a following price',
      `${general}, valid_until: 2027-01-01T00:00:00Z`,
      /no price without dimensions from 2027-01-01/,
    ],
    [
      'no default price',
      `${general}, dimensions: { region: a }`,
      /gpu_instance_seconds needs a price without dimensions/,
    ],
  ])('%s', (_name, row, message) => {
    expect(() => read(row)).toThrow(message)
  })

  test('two prices for the same usage at the same time', () => {
    const until = `${general}, valid_until: 2026-02-01T00:00:00Z`
    const from = `${named}, valid_from: 2026-01-31T23:00:00Z`
    expect(() => read(until, from)).toThrow(
      /line 3, prices\[1\]: matches the same usage at the same time as prices\[0\]/,
    )
    const equal = ['instance_type: a', 'region: b'].map(
      (dimension) => `${general}, dimensions: { ${dimension} }`,
    )
    expect(() => read(general, ...equal)).toThrow(/prices\[2\]: matches the same usage/)
  })

  test('all mistakes are listed at once', () => {
    expect(() => read(general.replace('usd', 'eur'), `${general}, price: 1`)).toThrow(/has 2 mistakes/)
  })

  test('a missing file', () => {
    expect(() => readPricesFile(join(folder, 'none.yaml'), 'usd')).toThrow(/price file .* could not be read/)
  })
})

describe('findPrice', () => {
  const usage = { instance_type: 'H100', region: 'eu' }
  const first = new Date('2026-01-01T00:00:00Z')
  const amountAt = (
    prices: ReturnType<typeof read>,
    hour: Date,
    dimensions: Record<string, string> = usage,
  ) => findPrice(prices, 'gpu_instance_seconds', dimensions, hour).unit?.amount

  test('the price with the most dimensions wins', () => {
    const prices = read(
      general,
      `${general.replace('0.5', '0.6')}, dimensions: { instance_type: H100 }`,
      `${general.replace('0.5', '0.7')}, dimensions: { instance_type: H100, region: us }`,
    )
    expect(amountAt(prices, first)).toBe('0.6')
    expect(amountAt(prices, first, { ...usage, region: 'us' })).toBe('0.7')
    expect(amountAt(prices, first, { ...usage, instance_type: 'h100' })).toBe('0.5')
  })

  test('only a price that is valid in the hour counts', () => {
    const prices = read(
      `${general}, valid_until: 2026-02-01T00:00:00Z`,
      `${named.replace('0.5', '0.9')}, valid_from: 2026-02-01T00:00:00Z`,
    )
    expect(amountAt(prices, new Date('2025-12-31T23:00:00Z'))).toBeUndefined()
    expect(amountAt(prices, first)).toBe('0.5')
    expect(amountAt(prices, new Date('2026-01-31T23:00:00Z'))).toBe('0.5')
    expect(amountAt(prices, new Date('2026-02-01T00:00:00Z'))).toBe('0.9')
  })

  test('prices named by the file or offered by a runtime are published; a duplicate key throws', () => {
    const prices = read(
      general.replace('Instance', '"{instance_type} in {region}"'),
      `${general}, dimensions: { instance_type: H100, region: eu }`,
    )
    const listed = listMeteredPrices(prices, first, [{ instance_type: 'A 10', region: 'EU' }])
    expect(listed.map(({ key, displayName }) => [key, displayName])).toEqual([
      ['gpu_instance_seconds.local-cpu.local.0.5-usd', 'local-cpu in local'],
      ['gpu_instance_seconds.local-gpu.local.0.5-usd', 'local-gpu in local'],
      ['gpu_instance_seconds.a-10.eu.0.5-usd', 'A 10 in EU'],
      ['gpu_instance_seconds.h100.eu.0.5-usd', 'Instance'],
    ])
    expect(() => listMeteredPrices(prices, first, [{ instance_type: 'h100', region: 'eu' }])).toThrow(
      /same price key/,
    )
  })

  test('current prices are published first, then scheduled ones, then those of the last 35 days', () => {
    const prices = read(
      `${general}, valid_until: 2026-02-01T00:00:00Z`,
      `${named.replace('0.5', '0.50')}, valid_from: 2026-02-01T00:00:00Z, valid_until: 2026-03-01T00:00:00Z`,
      `${named.replace('0.5', '0.7')}, valid_from: 2026-03-01T00:00:00Z, valid_until: 2026-04-01T00:00:00Z`,
      `${named.replace('0.5', '0.8')}, valid_from: 2026-04-01T00:00:00Z`,
    )
    const amounts = (now: string, max?: number) =>
      listMeteredPrices(prices, new Date(now), [], max)
        .filter(({ key }) => key.includes('local-cpu'))
        .map(({ unitAmountDecimal }) => unitAmountDecimal)
    expect(amounts('2026-01-05T10:00:00Z')).toEqual(['0.5', '0.7', '0.8'])
    expect(amounts('2026-03-05T10:00:00Z')).toEqual(['0.7', '0.8', '0.5'])
    expect(amounts('2026-04-06T10:00:00Z')).toEqual(['0.8', '0.7'])
    expect(amounts('2026-03-05T10:00:00Z', 1)).toEqual(['0.7'])
  })
})
