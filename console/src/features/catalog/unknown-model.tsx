import { Link } from '@tanstack/react-router'
import { Library } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Page, Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'

const words = text.catalog

/** Says that the catalog has no such model, or no longer: somebody deleted it while its page was open. */
export function UnknownModel({ wasThere }: { wasThere: boolean }) {
  const title = wasThere ? words.goneTitle : words.notFoundTitle
  return (
    <Page title={title}>
      <Section flush>
        <EmptyState
          icon={<Library />}
          title={title}
          action={
            <Button asChild>
              <Link to="/catalog">{words.toCatalog}</Link>
            </Button>
          }
        >
          {wasThere ? words.gone : words.notFound}
        </EmptyState>
      </Section>
    </Page>
  )
}
