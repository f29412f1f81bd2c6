import type { Price } from '../../src/base/price.ts'

export const priceChange = new Date('2026-02-01T00:00:00Z')
const always = new Date('2000-01-01T00:00:00Z')

function price(meter: Price['meter'], unitAmount: string, validFrom: Date, validUntil: Date | null): Price {
  return { meter, dimensions: {}, displayName: meter, unitAmount, currency: 'usd', validFrom, validUntil }
}

/** Tokens are free; the instance price doubles on February 1. */
export const prices: Price[] = [
  price('gpu_instance_seconds', '0.001', always, priceChange),
  price('gpu_instance_seconds', '0.002', priceChange, null),
  price('inference_input_tokens', '0', always, null),
  price('inference_output_tokens', '0', always, null),
]
