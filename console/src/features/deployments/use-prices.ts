import { useQuery } from '@tanstack/react-query'
import type { Deployment } from '../../contract.ts'
import { multiplyDecimal } from '../../domain/billing/decimal.ts'
import { isOfEndpoint, writeTokenPrices } from '../../domain/models/endpoint-models.ts'
import { placementsQuery } from '../../domain/models/queries.ts'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'

/** Returns a function for the price of instances, or of an endpoint's tokens; null if no placement has it. */
export function usePrices(
  enabled: boolean,
): (deployment: Deployment, instanceType: string | null, count?: number) => string | null {
  const { data } = useQuery({ ...placementsQuery, enabled })
  return (deployment, instanceType, count = 1) => {
    const placement = data?.items.find(
      (one) =>
        one.model_name === deployment.model_name &&
        one.model_format === deployment.model_format &&
        one.model_size_in_billions === deployment.model_size_in_billions &&
        one.quantization === deployment.quantization &&
        one.instance_type === instanceType,
    )
    if (!data || !placement || placement.price_per_hour === null) return null
    if (isOfEndpoint(deployment)) return writeTokenPrices(placement.token_prices, data.currency)
    return text.deployments.perHour(
      formatMoney(multiplyDecimal(placement.price_per_hour, count), data.currency),
    )
  }
}
