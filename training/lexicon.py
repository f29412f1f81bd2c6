"""The vocabulary and facts of the corpus."""


def words(text):
    return text.split()


def pairs(text):
    """Parses `a:b, c:d` to [(a, b), (c, d)]; an underscore means a space."""
    return [tuple(part.strip().replace('_', ' ').split(':')) for part in text.split(',')]


NAMES = words('''Ada Alan Alice Amir Anna Ben Bob Carla Carlos Chen Clara Daniel David Dora Elena Emma Eric Eva Felix
Finn Grace Hana Henry Hugo Ida Ines Ivan Jack James Jane Jonas Julia Kai Karl Kim Lara Laura Leo Lena Lina Lisa Lucas
Luna Maria Mark Marta Max Maya Mei Mia Mila Nadia Nina Nora Olga Oliver Omar Otto Paul Peter Pia Quinn Rosa Ruth Sam
Sara Sofia Theo Tim Tom Uma Vera Victor Yara Yuki Zoe John Mary Robert Linda Sarah Lukas Noah Ella''')

CAPITALS = pairs('''France:Paris, Germany:Berlin, Italy:Rome, Spain:Madrid, Portugal:Lisbon, Austria:Vienna,
Switzerland:Bern, Poland:Warsaw, Greece:Athens, Norway:Oslo, Sweden:Stockholm, Finland:Helsinki, Denmark:Copenhagen,
Ireland:Dublin, England:London, the_United_Kingdom:London, Scotland:Edinburgh, Belgium:Brussels,
the_Netherlands:Amsterdam, Hungary:Budapest, Romania:Bucharest, Bulgaria:Sofia, Croatia:Zagreb, Serbia:Belgrade,
Ukraine:Kyiv, Russia:Moscow, Turkey:Ankara, Egypt:Cairo, Morocco:Rabat, Kenya:Nairobi, Ghana:Accra, Nigeria:Abuja,
Japan:Tokyo, China:Beijing, India:New_Delhi, Nepal:Kathmandu, Thailand:Bangkok, Vietnam:Hanoi, Indonesia:Jakarta,
South_Korea:Seoul, Iran:Tehran, Iraq:Baghdad, Israel:Jerusalem, Jordan:Amman, Canada:Ottawa, Mexico:Mexico_City,
Cuba:Havana, Brazil:Brasilia, Argentina:Buenos_Aires, Chile:Santiago, Peru:Lima, Colombia:Bogota, Ecuador:Quito,
Australia:Canberra, New_Zealand:Wellington, Iceland:Reykjavik, Estonia:Tallinn, Latvia:Riga, Lithuania:Vilnius,
the_United_States:Washington, the_USA:Washington, Slovakia:Bratislava, Slovenia:Ljubljana''')

OPPOSITES = pairs('''hot:cold, big:small, large:little, tall:short, fast:slow, young:old, new:ancient, good:bad,
happy:sad, light:dark, day:night, up:down, left:right, in:out, open:closed, full:empty, early:late, easy:difficult,
soft:hard, wet:dry, clean:dirty, rich:poor, strong:weak, loud:quiet, near:far, high:low, thick:thin, wide:narrow,
deep:shallow, heavy:weightless, sweet:sour, rough:smooth, sharp:blunt, brave:afraid, true:false, first:last, win:lose,
begin:end, start:stop, buy:sell, push:pull, give:take, love:hate, above:below, before:after, inside:outside,
always:never, everything:nothing, summer:winter, north:south, east:west, cheap:expensive, safe:dangerous, alive:dead,
awake:asleep, friend:enemy, question:answer, black:white, yes:no, more:less, many:few, long:brief, noisy:silent''')

DAYS = words('Monday Tuesday Wednesday Thursday Friday Saturday Sunday')
MONTHS = words('January February March April May June July August September October November December')
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
ORDINALS = words('first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth')
NUMBERS = words('zero one two three four five six seven eight nine ten eleven twelve')

COLOURS = words('red blue green yellow black white brown orange purple pink grey golden')
COLOUR_OF = pairs('''the_sky:blue, grass:green, snow:white, a_banana:yellow, a_lemon:yellow, coal:black, blood:red,
milk:white, an_orange:orange, a_carrot:orange, a_tomato:red, a_strawberry:red, a_cherry:red, the_sun:yellow,
chocolate:brown, a_leaf:green, a_frog:green, the_sea:blue, an_elephant:grey, a_raven:black, a_swan:white, a_pig:pink,
a_plum:purple, a_cucumber:green, a_pumpkin:orange, ash:grey, a_polar_bear:white, the_night:black, salt:white,
a_fire_engine:red, a_flamingo:pink, a_cloud:white, coffee:brown, a_pea:green, an_aubergine:purple, honey:golden''')
MIXTURES = [('blue', 'yellow', 'green'), ('red', 'yellow', 'orange'), ('red', 'blue', 'purple'),
            ('red', 'white', 'pink'), ('black', 'white', 'grey')]

ANIMALS = words('''cat dog fox bear rabbit horse cow mouse bird duck goat sheep lion tiger wolf owl frog turtle whale
dolphin monkey elephant penguin hedgehog squirrel otter seal crab bee ant dragon robot''')
PEOPLE = words('''sailor baker teacher farmer doctor painter captain child girl boy king queen singer gardener pilot
student nurse fisherman carpenter musician wizard knight princess astronaut''')
THINGS = words('''ball book hat cup key box lamp chair table pen bag coat shoe clock map boat bike car stone flower
apple cake letter drum kite ring bell rope spoon bottle''')
PLACES = words('''garden house kitchen park school forest river harbour market castle tower bridge cave field village
library station island beach hill city shop barn cabin''')
ADJECTIVES = words('''small big old young red brave quiet happy tired clever kind lonely curious proud friendly hungry
tiny gentle shy cheerful''')
PREPOSITIONS = words('in behind under near beside on')
JOBS = words('''sailor baker teacher farmer doctor painter captain singer gardener pilot nurse carpenter musician
lawyer engineer writer cook driver''')
CITIES = [capital for _, capital in CAPITALS] + words('''Hamburg Munich Milan Barcelona Porto Lyon Geneva Chicago
Boston Seattle Sydney Osaka Mumbai Shanghai Toronto''')
FOODS = words('bread soup rice pizza cheese salad fish pasta cake fruit eggs noodles beans chocolate')
HOBBIES = words('chess music football tennis reading cooking swimming dancing painting gardening hiking singing')

# More common words, so that ordinary sentences are tokenized as words instead of letters.
COMMON = words('''the a an and or but if then so because as of to from at by for with without about into over after
before between through during against is are was were be been am do does did done have has had can could will would
shall should may might must not no yes it its he she they we you I me him her them us my your his their our this that
these those here there where when why how what which who whose some any all each every both more most many much few
little other another such only own same too very just also even still again ever never always often sometimes now
today tomorrow yesterday soon later time year month week day hour minute morning evening night people man woman child
family friend mother father brother sister name word sentence story question answer number letter line page book work
home room door window street road town country world water fire air earth sun moon star sky rain snow wind weather tree
food money price market company computer phone internet program code file data model server key user test error system
machine cloud go come get make take give find think know see look say tell ask want need like love help use try call
put keep let begin seem turn start show hear play run move live believe bring happen write read sit stand lose pay meet
learn change lead understand watch follow stop create speak spend grow open walk win teach offer remember consider buy
wait serve send build stay fall cut reach kill raise pass sell decide return explain hope carry break thank draw sleep
eat drink drive swim fly sing dance cook wash new good old great high small large long young early important public
bad able nice ready free full easy hard strong sure clear real right wrong true next last first second hello world
please thanks sorry okay well back up down out off away together around almost maybe really quickly slowly''')

# Syllables for made-up names and places.
ONSETS = words('b br d dr f g gr h j k kl l m n p pr qu r s st t tr v w x y z zor bel')
VOWELS = words('a e i o u ai ou ee')
CODAS = words('l n r s t x k m th nd rk ph sh') + ['']
