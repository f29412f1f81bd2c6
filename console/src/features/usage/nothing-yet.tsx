import { Link } from '@tanstack/react-router'
import { ChartColumn } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

/** What a period without usage shows instead of a chart. */
export function NothingYet() {
  const can = useCan()
  return (
    <EmptyState
      icon={<ChartColumn />}
      title={text.usage.nothingYet}
      action={
        can('createDeployments') && (
          <Button variant="primary" asChild>
            <Link to="/catalog">{text.usage.deployModel}</Link>
          </Button>
        )
      }
    >
      {text.usage.nothingYetHint}
    </EmptyState>
  )
}
