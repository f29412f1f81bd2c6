import { Cell } from '../../components/table.tsx'
import { sumDecimals } from '../../domain/billing/decimal.ts'
import { formatMoney } from '../../format.ts'
import { text } from '../../text/index.ts'

interface TotalRowProps {
  /** Decimal strings in the currency */
  amounts: string[]
  currency: string
  /** The number of columns before the amount */
  columns: number
}

/** The last row of a table, with the sum of the amounts. */
export function TotalRow({ amounts, currency, columns }: TotalRowProps) {
  return (
    <tr className="font-semibold">
      <th scope="row" colSpan={columns} className="px-5 py-3 font-semibold">
        {text.usage.total}
      </th>
      <Cell numeric>{formatMoney(sumDecimals(amounts), currency)}</Cell>
    </tr>
  )
}
