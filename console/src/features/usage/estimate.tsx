import type { UsageSummary, UsageTotal } from '../../contract.ts'
import { Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'
import { describeDimensions } from './breakdown.ts'
import { multiplyDecimal } from '../../domain/billing/decimal.ts'
import { formatQuantity } from './format-quantity.ts'
import { TotalRow } from './total-row.tsx'

/** The estimated cost of the current period so far, by line item. */
export function Estimate({ summary: { usage_totals: totals, currency } }: { summary: UsageSummary }) {
  const own = totals.filter((total) => total.estimated_amount_currency === currency)
  return (
    <Section flush title={text.usage.estimate} description={text.usage.estimateHint}>
      <Table
        label={text.usage.estimate}
        head={
          <>
            <HeadCell>{text.usage.item}</HeadCell>
            <HeadCell numeric>{text.usage.quantity}</HeadCell>
            <HeadCell numeric>{text.usage.unitPrice}</HeadCell>
            <HeadCell numeric>{text.usage.amount}</HeadCell>
          </>
        }
      >
        {totals.map((total) => (
          <tr
            key={JSON.stringify([
              total.meter,
              total.dimensions,
              total.unit_amount_decimal,
              total.display_name,
            ])}
          >
            <Cell className="min-w-52">
              {total.display_name}
              <Dimensions total={total} />
            </Cell>
            <Cell numeric className="whitespace-nowrap">
              {formatQuantity(total.total_quantity, total.unit)}
            </Cell>
            <Cell numeric className="whitespace-nowrap text-muted">
              {formatUnitPrice(total)}
            </Cell>
            <Cell numeric>{formatMoney(total.estimated_amount, total.estimated_amount_currency)}</Cell>
          </tr>
        ))}
        <TotalRow amounts={own.map((total) => total.estimated_amount)} currency={currency} columns={3} />
      </Table>
    </Section>
  )
}

/** The dimensions of the usage, unless the price name already contains them. */
function Dimensions({ total: { display_name: name, dimensions } }: { total: UsageTotal }) {
  if (Object.values(dimensions).every((value) => name.includes(value))) return null
  return <span className="ml-2 text-[0.8125rem] text-muted">{describeDimensions(dimensions)}</span>
}

/** Formats a price per hour or per million tokens. */
function formatUnitPrice({ unit, unit_amount_decimal: price, unit_amount_currency: currency }: UsageTotal) {
  if (Number(price) === 0) return text.usage.free
  // A digit more than in amounts, which are quantities times prices.
  const format = (units: number) => formatMoney(multiplyDecimal(price, units), currency, 3)
  return unit === 'second' ? text.usage.perHour(format(3_600)) : text.usage.perMillion(format(1_000_000))
}
