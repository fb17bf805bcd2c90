// SipHash with 128 bits against tables made by another implementation, which agreed with
// OpenSSL's (2-4, 128 bits) and with CPython's hash of bytes (the 1-3 rounds): key 00 01 ... 0f,
// message i is the bytes 00 01 ... i-1, as in the vectors of the reference.

#include "suimon/base/siphash.h"

#include <gtest/gtest.h>

#include <string>

namespace suimon {
namespace {

constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

constexpr const char* kSip24[64] = {
    "a3817f04ba25a8e66df67214c7550293", "da87c1d86b99af44347659119b22fc45",
    "8177228da4a45dc7fca38bdef60affe4", "9c70b60c5267a94e5f33b6b02985ed51",
    "f88164c12d9c8faf7d0f6e7c7bcd5579", "1368875980776f8854527a07690e9627",
    "14eeca338b208613485ea0308fd7a15e", "a1f1ebbed8dbc153c0b84aa61ff08239",
    "3b62a9ba6258f5610f83e264f31497b4", "264499060ad9baabc47f8b02bb6d71ed",
    "00110dc378146956c95447d3f3d0fbba", "0151c568386b6677a2b4dc6f81e5dc18",
    "d626b266905ef35882634df68532c125", "9869e247e9c08b10d029934fc4b952f7",
    "31fcefac66d7de9c7ec7485fe4494902", "5493e99933b0a8117e08ec0f97cfc3d9",
    "6ee2a4ca67b054bbfd3315bf85230577", "473d06e8738db89854c066c47ae47740",
    "a426e5e423bf4885294da481feaef723", "78017731cf65fab074d5208952512eb1",
    "9e25fc833f2290733e9344a5e83839eb", "568e495abe525a218a2214cd3e071d12",
    "4a29b54552d16b9a469c10528eff0aae", "c9d184ddd5a9f5e0cf8ce29a9abf691c",
    "2db479ae78bd50d8882a8a178a6132ad", "8ece5f042d5e447b5051b9eacb8d8f6f",
    "9c0b53b4b3c307e87eaee08678141f66", "abf248af69a6eae4bfd3eb2f129eeb94",
    "0664da1668574b88b935f3027358aef4", "aa4b9dc4bf337de90cd4fd3c467c6ab7",
    "ea5c7f471faf6bde2b1ad7d4686d2287", "2939b0183223fafc1723de4f52c43d35",
    "7c3956ca5eeafc3e363e9d556546eb68", "77c6077146f01c32b6b69d5f4ea9ffcf",
    "37a6986cb8847edf0925f0f1309b54de", "a705f0e69da9a8f907241a2e923c8cc8",
    "3dc47d1f29c448461e9e76ed904f6711", "0d62bf01e6fc0e1a0d3c4751c5d3692b",
    "8c03468bca7c669ee4fd5e084bbee7b5", "528a5bb93baf2c9c4473cce5d0d22bd9",
    "df6a301e95c95dad97ae0cc8c6913bd8", "801189902c857f39e73591285e70b6db",
    "e617346ac9c231bb3650ae34ccca0c5b", "27d93437efb721aa401821dcec5adf89",
    "89237d9ded9c5e78d8b1c9b166cc7342", "4a6d8091bf5e7d651189fa94a250b14c",
    "0e33f96055e7ae893ffc0e3dcf492902", "e61c432b720b19d18ec8d84bdc63151b",
    "f7e5aef549f782cf379055a608269b16", "438d030fd0b7a54fa837f2ad201a6403",
    "a590d3ee4fbf04e3247e0d27f286423f", "5fe2c1a172fe93c4b15cd37caef9f538",
    "2c97325cbd06b36eb2133dd08b3a017c", "92c814227a6bca949ff0659f002ad39e",
    "dce850110bd8328cfbd50841d6911d87", "67f14984c7da791248e32bb5922583da",
    "1938f2cf72d54ee97e94166fa91d2a36", "74481e9646ed49fe0f6224301604698e",
    "57fca5de98a9d6d8006438d0583d8a1d", "9fecde1cefdc1cbed4763674d9575359",
    "e3040c00eb28f15366ca73cbd872e740", "7697009a6a831dfecca91c5993670f7a",
    "5853542321f567a005d547a4f04759bd", "5150d1772f50834a503e069a973fbd7c"};

constexpr const char* kSip13[64] = {
    "e77ebcb22788a5befd62db6add303001", "fc6f370460d3eda85e0573cc2b2ff063",
    "75787f090569839b855bc9548c6aea95", "6bc5ccfa1edcf79f4823187712ebd743",
    "0c784e71ac2b285a9f8e92e78fbf2c25", "f328db89345b620c795229a42695843e",
    "dcd03d29f743e7100951b0e83985a6f8", "1084b923f2aae0c3a62f2ec80848ab77",
    "aa12fee1d5e3dab4724f16ab35f9c799", "81ddb8042cf33994f4720e0094137c42",
    "4faa541d5d498e89ba0ea4c387b22fb4", "723b9af3554491dbb1d6633dfc6e0c4e",
    "e53f92859e4819a8dc0695739fea8c65", "b2f858c7c9ea801d53d603596d657844",
    "87e76268dbc9227226b0ca665f64e378", "c17e5505b2bd526c2921cdec1e7e0109",
    "d0a8d95715518eebb513b0f83d9e1793", "234126f93fbb668d975112e8febdf7ec",
    "ef42f03db78f704d023c449f16b7092b", "abf76238c20af161b2314b4d5526bce9",
    "3c2c2f11bb90cf0be335ca9b2e91e9b7", "2a7a680f22a02a92f45149d20fece0ef",
    "c9a8d130231dd43e42e6456957f83779", "1d127b84405ceab99fd8775a9be6c559",
    "9e4bf837bcfd92cace09d2061a84d04a", "39031a965d73b4af5a274d18f973b1d2",
    "7f4d0a1209d67e4ed06f7538e1cfad64", "e61ee240fbdcce38969f4cd24927dd93",
    "4c3ba2b37b0fdd8cfa5e95c189b29414", "e06fd4ca066fecdd54068a5ad8896f86",
    "5ca84c34139c6580a88af24990720706", "42ea961c5b3c858b17c3e550dfa79010",
    "406c44dee67857b2943160f30c7417d3", "c5f57bae1320fcf4b4e868e71d56c66b",
    "04bf737a5b676be7c3de05017df4bff9", "5163c9c03f1907ea1044ed5c30727b4f",
    "37a110f002718edad24b3f9ee453f140", "b9877e381aedd3da08c33e75ff23ac10",
    "7c5004005ec5da4c5ac9440e5c723193", "81b8243783dbc646ca9d0cd82abdb46c",
    "505720543eb9b413d50b3cfad9eef938", "945f594de72411e4d335be874456d8f3",
    "37923b3e371777b21170bf9d7e62f602", "3ad4e7c85764964611eb0a6c4d62de56",
    "cd91396c44af4f5185578d9dd9803f0a", "fe28158e727b868f3903c9acda64a258",
    "40cc10b8288ce5f0bc3ac0b68a0eebc8", "6f1490f540699a3cd4974420ecc92737",
    "d505f1b75e1a84a603c43583b2ed0308", "491573cfd72bb4682b7ca5880e1c8d6f",
    "3ed69cfe45ab403f2fd2ad959ba27666", "8be839ef1b20b57c83ba7eb6a8c22b6a",
    "1409186ab42231fedee18162cf1cb4ca", "2bf3ccc24ab672cf151fb8d2f3f3069b",
    "b9b93a2882d6025cdb8c56fa13f7537b", "d97cca3694fb206db8bd1f3650c33322",
    "94ec2e19a40be41af3940d6b30c49384", "4b41603f209a045be140a341a3dffe10",
    "23fbcb309f1cf094890755ab1b426569", "e7d9b65690918a2b232f2f5c12c8300e",
    "ade83cf7e7f3847b36fa4b54b00dce61", "0610c5f2ee571c8ac80cbfe538bdf1c7",
    "271d5d00fbdb5d155d9dcea97cb40218", "4c5800e34efe426f079f6b0aa75260ad"};

std::string hex(const Hash128& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {hash.low, hash.high}) {
    for (int byte = 0; byte < 8; ++byte) {
      const auto value = static_cast<unsigned>(half >> (8 * byte)) & 0xff;
      text += kDigits[value >> 4];
      text += kDigits[value & 15];
    }
  }
  return text;
}

std::string counting(int length) {
  std::string message;
  for (int i = 0; i < length; ++i) message += static_cast<char>(i);
  return message;
}

TEST(SipHash, AgreesWithTheReferenceVectors) {
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(hex(siphash128<2, 4>(kKey, counting(i))), kSip24[i]) << i << " bytes";
    EXPECT_EQ(hex(siphash128<1, 3>(kKey, counting(i))), kSip13[i]) << i << " bytes";
  }
}

TEST(SipHash, ReadsMessagesAtAnyAlignment) {
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string padded = std::string(shift, '#') + counting(63);
    EXPECT_EQ(hex(siphash128<2, 4>(kKey, std::string_view(padded).substr(shift))), kSip24[63]);
  }
}

TEST(SipHash, EveryByteAndBothHalvesOfTheKeyMatter) {
  const Hash128 hash = siphash128<1, 3>(kKey, counting(20));
  EXPECT_NE(hash, (siphash128<1, 3>({kKey.k0 ^ 1, kKey.k1}, counting(20))));
  EXPECT_NE(hash, (siphash128<1, 3>({kKey.k0, kKey.k1 ^ 1}, counting(20))));
  for (std::size_t i = 0; i < 20; ++i) {
    std::string other = counting(20);
    other[i] = static_cast<char>(other[i] ^ 0x80);
    EXPECT_NE(hash, (siphash128<1, 3>(kKey, other))) << "byte " << i;
  }
  // A length beyond 255 is in the hash only modulo 256, but the bytes are all there.
  EXPECT_NE((siphash128<1, 3>(kKey, std::string(256, '\0'))),
            (siphash128<1, 3>(kKey, std::string(512, '\0'))));
}

}  // namespace
}  // namespace suimon
