/* Finds storefronts by either of their codes. */
#include "areas/payments/store/storefronts.h"

#include "base/result.h"

#define ALPHA2 2U
#define ALPHA3 3U

/* Alpha-2 and alpha-3 codes of ISO 3166-1, and Kosovo, which the app store lists as XKX. */
/* clang-format off */
static const char countries[][ALPHA2 + ALPHA3 + 1] = {
    "AFAFG", "AXALA", "ALALB", "DZDZA", "ASASM", "ADAND", "AOAGO", "AIAIA", "AQATA", "AGATG",
    "ARARG", "AMARM", "AWABW", "AUAUS", "ATAUT", "AZAZE", "BSBHS", "BHBHR", "BDBGD", "BBBRB",
    "BYBLR", "BEBEL", "BZBLZ", "BJBEN", "BMBMU", "BTBTN", "BOBOL", "BQBES", "BABIH", "BWBWA",
    "BVBVT", "BRBRA", "IOIOT", "BNBRN", "BGBGR", "BFBFA", "BIBDI", "CVCPV", "KHKHM", "CMCMR",
    "CACAN", "KYCYM", "CFCAF", "TDTCD", "CLCHL", "CNCHN", "CXCXR", "CCCCK", "COCOL", "KMCOM",
    "CGCOG", "CDCOD", "CKCOK", "CRCRI", "CICIV", "HRHRV", "CUCUB", "CWCUW", "CYCYP", "CZCZE",
    "DKDNK", "DJDJI", "DMDMA", "DODOM", "ECECU", "EGEGY", "SVSLV", "GQGNQ", "ERERI", "EEEST",
    "SZSWZ", "ETETH", "FKFLK", "FOFRO", "FJFJI", "FIFIN", "FRFRA", "GFGUF", "PFPYF", "TFATF",
    "GAGAB", "GMGMB", "GEGEO", "DEDEU", "GHGHA", "GIGIB", "GRGRC", "GLGRL", "GDGRD", "GPGLP",
    "GUGUM", "GTGTM", "GGGGY", "GNGIN", "GWGNB", "GYGUY", "HTHTI", "HMHMD", "VAVAT", "HNHND",
    "HKHKG", "HUHUN", "ISISL", "ININD", "IDIDN", "IRIRN", "IQIRQ", "IEIRL", "IMIMN", "ILISR",
    "ITITA", "JMJAM", "JPJPN", "JEJEY", "JOJOR", "KZKAZ", "KEKEN", "KIKIR", "KPPRK", "KRKOR",
    "KWKWT", "KGKGZ", "LALAO", "LVLVA", "LBLBN", "LSLSO", "LRLBR", "LYLBY", "LILIE", "LTLTU",
    "LULUX", "MOMAC", "MGMDG", "MWMWI", "MYMYS", "MVMDV", "MLMLI", "MTMLT", "MHMHL", "MQMTQ",
    "MRMRT", "MUMUS", "YTMYT", "MXMEX", "FMFSM", "MDMDA", "MCMCO", "MNMNG", "MEMNE", "MSMSR",
    "MAMAR", "MZMOZ", "MMMMR", "NANAM", "NRNRU", "NPNPL", "NLNLD", "NCNCL", "NZNZL", "NINIC",
    "NENER", "NGNGA", "NUNIU", "NFNFK", "MKMKD", "MPMNP", "NONOR", "OMOMN", "PKPAK", "PWPLW",
    "PSPSE", "PAPAN", "PGPNG", "PYPRY", "PEPER", "PHPHL", "PNPCN", "PLPOL", "PTPRT", "PRPRI",
    "QAQAT", "REREU", "ROROU", "RURUS", "RWRWA", "BLBLM", "SHSHN", "KNKNA", "LCLCA", "MFMAF",
    "PMSPM", "VCVCT", "WSWSM", "SMSMR", "STSTP", "SASAU", "SNSEN", "RSSRB", "SCSYC", "SLSLE",
    "SGSGP", "SXSXM", "SKSVK", "SISVN", "SBSLB", "SOSOM", "ZAZAF", "GSSGS", "SSSSD", "ESESP",
    "LKLKA", "SDSDN", "SRSUR", "SJSJM", "SESWE", "CHCHE", "SYSYR", "TWTWN", "TJTJK", "TZTZA",
    "THTHA", "TLTLS", "TGTGO", "TKTKL", "TOTON", "TTTTO", "TNTUN", "TRTUR", "TMTKM", "TCTCA",
    "TVTUV", "UGUGA", "UAUKR", "AEARE", "GBGBR", "USUSA", "UMUMI", "UYURY", "UZUZB", "VUVUT",
    "VEVEN", "VNVNM", "VGVGB", "VIVIR", "WFWLF", "EHESH", "YEYEM", "ZMZMB", "ZWZWE", "XKXKX",
};
/* clang-format on */

struct str storefront_find(struct str code)
{
    for (size_t i = 0; i < ARRAY_LEN(countries); i++) {
        struct str alpha2 = {countries[i], ALPHA2};
        struct str alpha3 = {countries[i] + ALPHA2, ALPHA3};
        if (str_ieq(code, alpha2) || str_ieq(code, alpha3))
            return alpha3;
    }
    return STR_NONE;
}
