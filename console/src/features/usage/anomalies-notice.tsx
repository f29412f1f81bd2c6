import { Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

/** Says that the checks of the usage have open findings, and leads those to them who see them. */
export function AnomaliesNotice({ count, seesFindings }: { count: number; seesFindings: boolean }) {
  return (
    <Notice
      tone="warn"
      title={text.usage.anomalies(count)}
      action={
        seesFindings && (
          <Button asChild>
            <Link to="/usage" search={true} hash="findings">
              {text.usage.seeAnomalies}
            </Link>
          </Button>
        )
      }
    >
      {text.usage.anomaliesHint}
    </Notice>
  )
}
