import { Fragment } from 'react'
import { classNames } from '../../class-names.ts'
import { Section } from '../../components/page.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { DailyUsage } from '../../contract.ts'
import { formatMoney, formatUtcDay } from '../../format.ts'
import { text } from '../../text/index.ts'
import { sumByMeter } from './breakdown.ts'
import { formatQuantity } from './format-quantity.ts'
import { TotalRow } from './total-row.tsx'

/** Totals of the selected days by meter and, within each, by instance type or model. */
export function MeterTable({ usage: { items, currency, from, to } }: { usage: DailyUsage }) {
  return (
    <Section
      flush
      title={text.usage.breakdown}
      description={text.usage.span(formatUtcDay(from), formatUtcDay(to))}
    >
      <Table
        label={text.usage.breakdown}
        head={
          <>
            <HeadCell>{text.usage.meterHead}</HeadCell>
            <HeadCell numeric>{text.usage.quantity}</HeadCell>
            <HeadCell numeric>{text.usage.amount}</HeadCell>
          </>
        }
      >
        {sumByMeter(items).map((sum) => (
          <Fragment key={sum.meter}>
            <tr className="border-b-0">
              <th scope="row" className="px-5 py-3 font-medium">
                {text.usage.meter(sum.meter)}
              </th>
              <Cell numeric className="font-medium whitespace-nowrap">
                {formatQuantity(sum.quantity, sum.unit)}
              </Cell>
              <Cell numeric className="font-medium">
                {formatMoney(sum.amount, currency)}
              </Cell>
            </tr>
            {sum.parts.map((part, index) => (
              <tr
                key={part.label}
                className={classNames('text-muted', index < sum.parts.length - 1 && 'border-b-0')}
              >
                <td className="px-5 pt-0 pb-3 pl-9">{part.label}</td>
                <td className="tabular px-5 pt-0 pb-3 text-right whitespace-nowrap">
                  {formatQuantity(part.quantity, sum.unit)}
                </td>
                <td className="tabular px-5 pt-0 pb-3 text-right">{formatMoney(part.amount, currency)}</td>
              </tr>
            ))}
          </Fragment>
        ))}
        <TotalRow amounts={items.map((item) => item.estimated_amount)} currency={currency} columns={2} />
      </Table>
    </Section>
  )
}
